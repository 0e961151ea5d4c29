"""What a night may use to merge: an embedder, a language model, and how much of it. Each is chosen when first used."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from consolidator.comparing import Comparing, Matrix
from consolidator.llm.budget import Spending
from consolidator.llm.choose import Choice, model_of
from consolidator.llm.port import Model
from consolidator.llm.prices import in_batch
from consolidator.settings import Embedding, Merge
from consolidator.store.engine import Store


@dataclass(frozen=True)
class Means:
    """
    As the settings and the environment say. One value is for one run: its budget is spent once.

    Without any, words alone are compared and no model is asked.
    """

    merge: Merge = field(default_factory=lambda: Merge(model="none"))
    embedding: Embedding = field(default_factory=lambda: Embedding(model="none"))
    environ: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def choice(self) -> Choice:
        """The model, or why there is none."""
        return model_of(self.merge, self.environ)

    @property
    def why_no_model(self) -> str:
        """Why there is no language model, in words."""
        return f"no language model: {self.choice.why}"

    @cached_property
    def comparing(self) -> Comparing:
        """The embedder."""
        return Comparing(self.embedding, self.environ)

    @cached_property
    def spending(self) -> Spending:
        """What this run has spent, and what it may."""
        price = self.choice.price
        price = in_batch(price) if self.merge.mode == "batch" else price
        return Spending(self.merge.budget, self.merge.budget_per_scope, price)

    def model_for(self, provider: str, name: str) -> Model | None:
        """The model that was asked before, whatever is set now; None where there is no key for it."""
        now = self.choice.model
        if now is not None and (now.provider, now.name) == (provider, name):
            return now
        same_place = now is not None and now.provider == provider
        before = {"model": f"{provider}:{name}"} | ({} if same_place else {"base_url": None, "api_key": None})
        return model_of(self.merge.model_copy(update=before), self.environ).model

    @property
    def budget_is_default(self) -> bool:
        """Whether nobody has set what a run may cost."""
        return "budget" not in self.merge.model_fields_set

    def insist(self, store: Store) -> None:
        """Nothing, where the settings can be meant for this store. BadInput elsewhere, before anything is done."""
        _, _ = self.choice, self.comparing.choose(store)

    def local_vector_of(self, store: Store) -> Callable[[str], tuple[str, Matrix] | None]:
        """Gives the vector of a text where that costs nothing and needs no network."""
        embedder = self.comparing.choose(store).embedder
        return self.comparing.vector if embedder and embedder.local else lambda _: None

    def close(self) -> None:
        """End what was opened."""
        if "choice" in self.__dict__ and self.choice.model:
            self.choice.model.close()
