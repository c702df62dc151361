"""Whatever a command prints, its lines come out the same, in bounded memory, and steer nothing."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watch_supervisor.fire_budget import FireBudget
from watch_supervisor.output.block_gate import BlockGate
from watch_supervisor.output.collected import Collected
from watch_supervisor.output.framing import LONGEST_LINE_BYTES, Block, Framer
from watch_supervisor.output.ring import MOST_BYTES, MOST_LINES, Ring
from watch_supervisor.patterns import compile_block_pattern, compile_pattern
from watch_supervisor.plain_text import LONGEST_BYTES, plain, without_escapes
from watch_supervisor.spec import WatchSpec
from watch_supervisor.spec_error import SpecError

BYTES = st.lists(
    st.sampled_from(
        [b"a", b"b", b"\n", b"\r", b"\r\n", b"\xc3\xa9", b"\xe2\x82\xac", b"\xff", b"\0", b"\x1b[1m"]
    ),
    max_size=40,
).map(b"".join)


def by_hand(data: bytes, longest: int) -> list[tuple[bytes, int]]:
    """What the lines of `data` are, and how much is missing from each: the rule, without any state."""
    *whole, rest = data.split(b"\n")
    lines = [line.rstrip(b"\r").rpartition(b"\r")[2] for line in [*whole, rest]]
    if not lines[-1]:
        lines.pop()
    return [(line[:longest], max(0, len(line) - longest)) for line in lines]


def framed(chunks: list[bytes], longest: int) -> list[tuple[bytes, int]]:
    framer = Framer(longest)
    blocks = [block for chunk in chunks for block in framer.feed(chunk)]
    last = framer.flush(final=True)
    found = []
    for block in [*blocks, *([last] if last is not None else [])]:
        assert block.data.endswith(b"\n")
        lines = block.lines()
        assert not block.dropped or len(lines) == 1
        found += [(line, block.dropped) for line in lines]
    return found


@given(BYTES, st.lists(st.integers(1, 9), min_size=1), st.sampled_from([1, 2, 3, 7, 1_000]))
def test_any_split_of_the_bytes_gives_the_same_lines(data: bytes, sizes: list[int], longest: int) -> None:
    chunks, at, turn = [], 0, 0
    while at < len(data):
        chunks.append(data[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
        turn += 1
    assert framed(chunks, longest) == by_hand(data, longest)


@given(BYTES, st.integers(0, 40))
def test_a_flush_in_between_splits_no_character(data: bytes, at: int) -> None:
    text = data.decode("utf-8", "ignore").replace("\r", "").replace("\0", "")
    raw = text.encode()
    framer = Framer()
    blocks = list(framer.feed(raw[:at]))
    block = framer.flush()
    blocks += [block] if block is not None else []
    blocks += framer.feed(raw[at:])
    block = framer.flush(final=True)
    blocks += [block] if block is not None else []
    whole = b"".join(b"".join(block.lines()) for block in blocks)
    for block in blocks:
        block.data.decode()
    assert whole.decode() == text.replace("\n", "")


def test_a_line_without_end_takes_no_memory_and_is_counted() -> None:
    framer = Framer()
    chunk = b"x" * 65_536
    tracemalloc.start()
    for _ in range(2_000):
        assert list(framer.feed(chunk)) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20
    (block,) = framer.feed(b"\n")
    assert (len(block.data), block.dropped) == (LONGEST_LINE_BYTES + 1, 1_999 * 65_536)
    assert [block.data for block in framer.feed(b"next\n")] == [b"next\n"]


def test_a_progress_bar_of_any_length_stays_one_line() -> None:
    framer = Framer()
    for number in range(50_000):
        assert list(framer.feed(b"\r%d %%" % number)) == []
    assert framer.partial == b"49999 %"
    assert [block.data for block in framer.feed(b"\rdone\n")] == [b"done\n"]


def gate(fire: str = "each-line", match: str | None = None, last: str | None = None) -> BlockGate:
    fire = "match" if match is not None else fire
    return BlockGate(WatchSpec(name="n", source="process", command="x", fire=fire, match=match), last)  # type: ignore[arg-type]


def judged(judge: BlockGate, data: bytes) -> list[str]:
    collected = Collected()
    judge.judge(Block(data), collected)
    return collected.text()[0].split("\n") if collected else []


PIECES = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "^",
        "$",
        "a*",
        "[^a]",
        "[^x]*",
        r"\s",
        r"\W",
        r"\b",
        "(a|b)",
        "(?i:A)",
        "(?s:.)",
        r"\n",
        " ",
        "€",
        "b+?",
    ]
    + [r"\A", r"\z", r"\C", "(?-m:^)", r"\pL", "(?s).", "|", "()", r"[\n]", r"\x0a"]
)


@given(
    st.lists(PIECES, min_size=1, max_size=5).map("".join),
    st.lists(st.text("ab €xA", max_size=4), min_size=1, max_size=8),
)
def test_a_pattern_finds_the_same_lines_in_a_block_as_line_by_line(pattern: str, lines: list[str]) -> None:
    try:
        alone = compile_pattern(pattern)
    except SpecError:
        return
    block = "".join(f"{line}\n" for line in lines).encode()
    found = compile_block_pattern(pattern).lines_of(block)
    one_by_one = [line.encode() for line in lines if alone.search(line) is not None]
    assert found == one_by_one


@pytest.mark.parametrize("pattern", ["(a+)+$", "(x+x+)+y", "(.*)*=.*z", "(a|aa)+$", "[^x]*[^y]*z"])
def test_a_hostile_pattern_reads_a_hostile_block_once(pattern: str) -> None:
    block = (b"a" * 60_000 + b"!\n") * 1 + b"x" * 50 + b"\n" + b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!\n" * 200
    compile_block_pattern(pattern).lines_of(block)


def test_each_line_passes_blank_ones_over() -> None:
    assert judged(gate(), b"a\n\n  \n\x1b[0m\nb\n") == ["a", "b"]


def test_change_is_against_what_escalated_last() -> None:
    judge = gate("change")
    assert judged(judge, b"a\na\nb\na\n") == ["a", "b", "a"]
    assert judged(judge, b"a\n\n") == []
    assert judged(gate("change", last=judge.last), b"a\nc\n") == ["c"]


def test_on_exit_no_line_escalates() -> None:
    assert judged(gate("exit"), b"a\n") == []


def test_match_looks_at_what_is_shown() -> None:
    assert judged(gate(match="^ERROR$"), b"\x1b[31mER\x1b[0mROR\nERROR x\n") == ["ERROR"]
    judge = gate(match="E")
    judged(judge, b"xEx\n")
    assert (judge.why(1), judge.why(1_200)) == ("matched E", "matched E, 1,200 lines")


def test_a_number_within_bounds_counts() -> None:
    spec = WatchSpec(name="n", source="process", command="x", fire="match", match=r"loss (\S+)", below="0.1")
    judge = BlockGate(spec)
    assert judged(judge, b"loss 0.5\nloss 0.05\nloss none\nepoch 0.01\n") == ["loss 0.05"]
    assert judge.why(1) == "0.05 is below 0.1"


HOSTILE = [
    b"\x1b]0;evil title\x07text",
    b"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\",
    b"\x1b[2J\x1b[H\x9bclear",
    "‮gnp.exe‬".encode(),
    "a⁦b⁩\u2028c\u0085d".encode(),
    b"nul\0nul \x07\x08",
    b"\xff\xfe\xc3(",
    b"<@1> @everyone ```",
]


@pytest.mark.parametrize("line", HOSTILE, ids=[f"line-{number}" for number in range(len(HOSTILE))])
def test_what_escalates_steers_no_terminal_and_no_reader(line: bytes) -> None:
    collected = Collected()
    collected.add([line], "stderr: ")
    text, _ = collected.text()
    assert text == plain(text)
    assert text.startswith("stderr: ")
    assert not any(char in text for char in "\x1b\x07\0\u202e\u2066\u2028\n")


@given(st.binary(max_size=200))
def test_stripping_never_makes_or_takes_a_newline(data: bytes) -> None:
    assert without_escapes(data).count(b"\n") == data.count(b"\n")


@given(st.lists(st.lists(st.integers(0, 3_000), max_size=30), max_size=12))
def test_what_is_collected_fits_and_counts_what_is_missing(adds: list[list[int]]) -> None:
    collected, count = Collected(), 0
    for sizes in adds:
        lines = [b"%d " % (count + at) + b"x" * size for at, size in enumerate(sizes)]
        collected.add(lines)
        count += len(lines)
    text, dropped = collected.text()
    assert len(text.encode()) <= LONGEST_BYTES
    assert collected.count == count
    if count:
        assert text.startswith("0 ")
        assert text.split("\n")[-1].startswith(f"{count - 1} ")
    if dropped == 0:
        assert text.count("\n") == max(0, count - 1)


def test_a_cut_line_says_how_much_is_missing() -> None:
    collected = Collected()
    collected.add([b"x" * 5_000], dropped=1_000_000)
    text, dropped = collected.text()
    assert text == "x" * 1_900 + "… (1,003,100 more left out)"
    assert dropped == 1


def test_many_lines_are_collected_in_little_memory() -> None:
    collected = Collected()
    block = [b"y" * 60_000] * 20
    tracemalloc.start()
    for _ in range(50):
        collected.add(block)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert collected.count == 1_000
    assert peak < 2 << 20


@given(
    st.lists(
        st.lists(st.sampled_from([b"", b"a", b"b" * 3_000, b"\xff"]), min_size=1, max_size=40), max_size=40
    )
)
def test_the_ring_is_the_end_of_the_stream(blocks: list[list[bytes]]) -> None:
    ring, everything = Ring(), list[str]()
    for lines in blocks:
        ring.add(Block(b"".join(line + b"\n" for line in lines)))
        everything += [line.decode("utf-8", "replace") for line in lines]
    kept = ring.lines()
    assert len(kept) <= MOST_LINES
    assert kept[1:] == everything[len(everything) - len(kept) + 1 :] or not kept
    if sum(len(line) + 1 for line in everything) <= MOST_BYTES:
        assert kept == everything[-MOST_LINES:]
    assert Ring().lines(b"half") == ["half"]


def test_a_budget_of_fires_slides_with_the_hour_and_is_said_once() -> None:
    budget = FireBudget(2)
    assert budget.next_at() == 0
    budget.fired(100)
    assert (budget.next_at(), budget.to_tell(100)) == (0, False)
    budget.fired(160)
    assert budget.next_at() == 3_700
    assert [budget.to_tell(200), budget.to_tell(300)] == [True, False]
    assert budget.to_tell(3_700) is False
    budget.fired(3_700)
    assert (budget.next_at(), budget.to_tell(3_700)) == (3_760, True)
    budget.go_on()
    assert budget.next_at() == 0
    free = FireBudget(None)
    for now in range(100):
        free.fired(now)
    assert free.next_at() == 0
