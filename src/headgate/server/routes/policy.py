"""Who decides: policies, the one in force, which queries share jobs, and previews of changes."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Response
from pydantic import Field

from headgate.server import etags, paging
from headgate.server.access.roles import Role, allow
from headgate.server.routes.common import TAGGED, Answer, Asked, Body, Cursor, IfMatch, Limit, router
from headgate.server.workspace import policy as deciding

routes = router("policy")
Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
POLICY = "policy"  # the key of its changes; those of fusion too, since a change of the policy may change both


class PolicyDetails(Answer):
    """A policy: what it does, where it comes from, and its settings."""

    name: str
    family: str
    rule: str
    source: str
    description: str
    settings: list[dict[str, Any]]


class PolicyList(Answer):
    """Policies, and where the next page begins."""

    items: list[PolicyDetails]
    next: str | None = None


class Policy(Body):
    """The policy that is to decide."""

    policy: str = Field(max_length=2000, examples=["bsd, clusters=12"])
    fuse: str | None = Field(None, description="which queries share a job: off, class or all; as before if left out")


class PolicyAnswer(Answer):
    """The policy in force."""

    policy: str
    fuse: str
    error: str | None = Field(None, description="why the last policy that failed was taken out")


class Fusion(Body):
    """Which queries are to share jobs."""

    fuse: str = Field(examples=["class"])


class FusionAnswer(Answer):
    """Which queries share jobs."""

    fuse: str


class Change(Body):
    """What is to be different."""

    policy: str | None = Field(None, max_length=2000)
    fuse: str | None = None
    priorities: dict[str, Number] = Field(default_factory=dict, description="by class")
    last: Number | None = Field(None, description="seconds; all that was recorded if left out", examples=[60])


class ClassChange(Answer):
    """What becomes of a class; times are seconds."""

    effect: str = Field(description="gains, loses, within the error, or no results")
    change: float | None = Field(None, description="of the mean response time: 0.5 is half as long again")
    error: float | None = Field(None, description="how far the replay of what was recorded is off")


class PreviewAnswer(Answer):
    """Who would gain and who would lose."""

    policy: str
    classes: dict[str, ClassChange]


@routes.get("/policies", openapi_extra=allow(Role.VIEW), response_model=PolicyList)
def catalogue(limit: Limit = 100, cursor: Cursor = None) -> dict[str, Any]:
    """All policies, with their settings and documentation."""
    known = {one["name"]: one for one in deciding.catalogue()}
    return paging.listed(paging.of_names("policies", known, cursor, limit), known.__getitem__)


@routes.get("/policies/{name}", openapi_extra=allow(Role.VIEW), response_model=PolicyDetails)
def details(name: str) -> dict[str, Any]:
    """One policy."""
    return deciding.described(name)


@routes.get("/policy", openapi_extra=allow(Role.VIEW), response_model=PolicyAnswer, responses=TAGGED)
def policy(asked: Asked, response: Response) -> dict[str, Any]:
    """The policy in force, and which queries share jobs."""
    response.headers["ETag"] = etags.etag(asked.deciding.definition())
    return asked.deciding.current()


@routes.put("/policy", openapi_extra=allow(Role.OPERATE, tenants=False), response_model=PolicyAnswer, responses=TAGGED)
def set_policy(to: Policy, asked: Asked, response: Response, if_match: IfMatch = None) -> dict[str, Any]:
    """Let another policy decide from now on; queries go on where they are. Only registered ones, never a file's."""
    with asked.host.changes.of(POLICY, "the policy", if_match, asked.deciding.definition):
        asked.deciding.set_policy(to.policy, to.fuse)
        return policy(asked, response)


@routes.get("/fusion", openapi_extra=allow(Role.VIEW), response_model=FusionAnswer, responses=TAGGED)
def fusion(asked: Asked, response: Response) -> dict[str, Any]:
    """Which queries share jobs: off, those of a class, or all."""
    current = asked.deciding.fusion()
    response.headers["ETag"] = etags.etag(current)
    return current


@routes.put("/fusion", openapi_extra=allow(Role.OPERATE, tenants=False), response_model=FusionAnswer, responses=TAGGED)
def set_fusion(to: Fusion, asked: Asked, response: Response, if_match: IfMatch = None) -> dict[str, Any]:
    """Change which queries share jobs."""
    with asked.host.changes.of(POLICY, "fusion", if_match, asked.deciding.fusion):
        asked.deciding.set_fusion(to.fuse)
        return fusion(asked, response)


@routes.post("/policy/preview", openapi_extra=allow(Role.OPERATE, tenants=False), response_model=PreviewAnswer)
def preview(change: Change, asked: Asked) -> dict[str, Any]:
    """Who would gain and who would lose by another policy, fusion or priority, by what was recorded lately.

    One such question at a time: 429 while another is being answered.
    """
    return asked.deciding.preview(change.policy, change.fuse, change.priorities, change.last)
