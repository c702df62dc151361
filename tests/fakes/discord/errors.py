"""What Discord says when it refuses: HTTP status, JSON error code and a sentence. The sentences are ours on purpose:
nobody may read them."""

from typing import Any

STATUSES: dict[int, tuple[int, str]] = {
    10003: (404, "There is no such channel"),
    10004: (404, "There is no such guild"),
    10007: (404, "There is no such member"),
    10008: (404, "There is no such message"),
    10011: (404, "There is no such role"),
    10013: (404, "There is no such user"),
    10014: (400, "There is no such emoji"),
    10015: (404, "There is no such webhook"),
    10062: (404, "There is no such interaction, or it is too late to answer it"),
    10063: (404, "There is no such command"),
    20016: (429, "Slow mode: wait before the next message"),
    30003: (400, "Too many pins"),
    30010: (403, "Too many reactions"),
    30034: (429, "Too many commands made today"),
    30046: (429, "Too many edits of an old message"),
    40001: (401, "Not signed in"),
    40005: (413, "The body is too large"),
    40058: (403, "The author of the post has to write first"),
    40060: (400, "The interaction was answered already"),
    50001: (403, "No access"),
    50003: (403, "Not in a direct-message channel"),
    50005: (403, "Only one's own messages can be edited"),
    50006: (400, "An empty message"),
    50007: (403, "This person takes no direct messages"),
    50008: (400, "No messages in a channel of this kind"),
    50013: (403, "A permission is missing"),
    50014: (401, "A wrong token"),
    50021: (403, "Not with a system message"),
    50024: (400, "Not in a channel of this kind"),
    50027: (401, "The webhook's token is wrong or too old"),
    50034: (400, "Messages too old for a bulk delete"),
    50035: (400, "The body has a wrong form"),
    50083: (400, "The thread is archived"),
    50109: (400, "The body is no JSON"),
    130000: (503, "Overloaded, try again later"),
    160002: (403, "No reply without reading the history"),
    160004: (400, "The message has a thread already"),
    160005: (403, "The thread is locked"),
    200000: (400, "A rule of the guild holds this message back"),
}


class ApiError(Exception):
    """A refusal. `extra` goes into the body (as `retry_after` does, seconds), `errors` tells which field is wrong."""

    def __init__(
        self, code: int, *, status: int | None = None, errors: dict[str, Any] | None = None, **extra: Any
    ) -> None:
        known = STATUSES.get(code, (400, "Refused"))
        self.code, self.status, self.sentence = code, status or known[0], known[1]
        self.errors, self.extra = errors, extra
        super().__init__(f"{self.status} ({code}): {self.sentence} {errors or ''}")

    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = {"message": self.sentence, "code": self.code, **self.extra}
        return {**found, "errors": self.errors} if self.errors else found


def wrong_form(path: str, code: str, sentence: str) -> ApiError:
    """50035 with the tree that points at the field: `path` is dotted, as `embeds.0.title`."""
    tree: dict[str, Any] = {"_errors": [{"code": code, "message": sentence}]}
    for part in reversed(path.split(".")):
        tree = {part: tree}
    return ApiError(50035, errors=tree)


def plain(status: int, sentence: str) -> ApiError:
    """A refusal with no code of its own (401 for a missing token, 404 for an unknown path, 405)."""
    error = ApiError(0, status=status)
    error.sentence = sentence
    return error
