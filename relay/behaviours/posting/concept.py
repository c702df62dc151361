"""The outbox: what is owed to the surfaces, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from relay.behaviours.posting.verbs import (
    PostDead,
    PostDelayed,
    PostEdited,
    PostEditRequested,
    PostRequested,
    PostSending,
    PostSent,
    ReactionRequested,
    ReactionSet,
)
from relay.ledger.fold import Concept, on
from relay.ledger.interaction import Interaction

KINDS = ("notice", "card", "answer")


@dataclass(slots=True)
class OwedPost:
    """A post that does not stand yet. Its text is in the ledger, not here: it may be redacted."""

    post: str
    kind: str
    seq: int
    asked_at: int
    sending_at: int | None = None
    attempts: int = 0
    not_before: int = 0


@dataclass(slots=True)
class OwedReaction:
    request: str
    scope: str
    message: str
    emoji: str
    add: bool


@dataclass(slots=True)
class OwedEdit:
    request: str
    scope: str
    post: str
    version: int


@dataclass(slots=True)
class CardPost:
    """Where the card of an approval stands; `message` is empty until it does."""

    post: str
    scope: str
    message: str = ""


@dataclass(slots=True)
class OutboxState:
    scopes: dict[str, dict[str, dict[str, OwedPost]]] = field(
        default_factory=dict[str, dict[str, dict[str, OwedPost]]]
    )
    """scope → kind → post → owed."""
    where: dict[str, str] = field(default_factory=dict[str, str])
    """owed post → scope."""
    reactions: dict[str, dict[str, OwedReaction]] = field(default_factory=dict[str, dict[str, OwedReaction]])
    """scope → request → owed."""
    edits: dict[str, OwedEdit] = field(default_factory=dict[str, OwedEdit])
    cards: dict[str, CardPost] = field(default_factory=dict[str, CardPost])
    """approval → its card."""
    card_posts: dict[str, str] = field(default_factory=dict[str, str])
    """a card's post → its approval."""


class Outbox(Concept[OutboxState]):
    """See the module. A post is forgotten when it stands or is dead, a reaction or edit when it is done, a card when
    its closing edit is done."""

    NAME = "outbox"
    State = OutboxState

    @on(PostRequested)
    def requested(self, i: Interaction, p: PostRequested) -> None:
        kinds = self.state.scopes.setdefault(i.scope, {})
        kinds.setdefault(p.kind, {})[i.id] = OwedPost(i.id, p.kind, i.seq, i.at)
        self.state.where[i.id] = i.scope
        if p.approval:
            self.state.cards[p.approval] = CardPost(i.id, i.scope)
            self.state.card_posts[i.id] = p.approval

    @on(PostSending)
    def sending(self, i: Interaction, p: PostSending) -> None:
        owed = self.owed(p.post)
        if owed is not None:
            owed.sending_at = i.at

    @on(PostDelayed)
    def delayed(self, i: Interaction, p: PostDelayed) -> None:
        owed = self.owed(p.post)
        if owed is not None:
            owed.attempts, owed.not_before = p.attempt, p.not_before

    @on(PostSent)
    def sent(self, i: Interaction, p: PostSent) -> None:
        self._settle(p.post)
        card = self.card(p.post)
        if card is not None:
            card.message = p.message

    @on(PostDead)
    def dead(self, i: Interaction, p: PostDead) -> None:
        self._settle(p.post)
        for request in [e.request for e in self.state.edits.values() if e.post == p.post]:
            del self.state.edits[request]
        self._forget_card(p.post)

    def _settle(self, post: str) -> None:
        scope = self.state.where.pop(post, None)
        if scope is None:
            return
        kinds = self.state.scopes[scope]
        for kind in KINDS:
            kinds.get(kind, {}).pop(post, None)
        if not any(kinds.values()):
            del self.state.scopes[scope]

    @on(ReactionRequested)
    def reaction_requested(self, i: Interaction, p: ReactionRequested) -> None:
        self.state.reactions.setdefault(i.scope, {})[i.id] = OwedReaction(
            i.id, i.scope, p.message, p.emoji, p.add
        )

    @on(ReactionSet)
    def reaction_set(self, i: Interaction, p: ReactionSet) -> None:
        owed = self.state.reactions.get(i.scope, {})
        owed.pop(p.request, None)
        if not owed:
            self.state.reactions.pop(i.scope, None)

    @on(PostEditRequested)
    def edit_requested(self, i: Interaction, p: PostEditRequested) -> None:
        self.state.edits[i.id] = OwedEdit(i.id, i.scope, p.post, p.version)

    @on(PostEdited)
    def edited(self, i: Interaction, p: PostEdited) -> None:
        done = self.state.edits.pop(p.request, None)
        if done is not None:
            self._forget_card(done.post)

    def _forget_card(self, post: str) -> None:
        approval = self.state.card_posts.pop(post, None)
        if approval is not None:
            self.state.cards.pop(approval, None)

    def card(self, post: str) -> CardPost | None:
        """The card that this post is, until its closing edit is done."""
        return self.state.cards.get(self.state.card_posts.get(post, ""))

    def owed(self, post: str) -> OwedPost | None:
        kinds = self.state.scopes.get(self.state.where.get(post, ""), {})
        for kind in KINDS:
            if post in kinds.get(kind, {}):
                return kinds[kind][post]
        return None

    def heads(self) -> Iterator[tuple[str, OwedPost]]:
        """The next post of each scope that owes one: notices before cards before answers."""
        for scope, kinds in self.state.scopes.items():
            for kind in KINDS:
                if kinds.get(kind):
                    yield scope, next(iter(kinds[kind].values()))
                    break
