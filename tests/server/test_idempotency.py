"""Requests that are repeated with an Idempotency-Key."""

from __future__ import annotations

import asyncio

import pytest
from starlette.responses import Response

from headgate.model import HeadgateError
from headgate.server.access.roles import Principal, Role
from headgate.server.idempotency import KeptAnswers, checked

ANNA, BERT = Principal("anna", Role.SUBMIT), Principal("bert", Role.SUBMIT)


class Counting:
    """Answers with how often it was asked."""

    def __init__(self, status: int = 201) -> None:
        self.calls, self.status = 0, status

    async def __call__(self) -> Response:
        self.calls += 1
        await asyncio.sleep(0)
        return Response(str(self.calls), self.status, {"X-Made": "yes"})


def test_a_repeated_request_gets_the_same_answer() -> None:
    async def run() -> None:
        kept, make = KeptAnswers(), Counting()
        first = await kept.answer(ANNA, "POST /v1/streams", "k", b"body", make)
        again = await kept.answer(ANNA, "POST /v1/streams", "k", b"body", make)
        assert (make.calls, again.body, again.status_code) == (1, first.body, 201)
        assert (again.headers["x-made"], again.headers["idempotency-replayed"]) == ("yes", "true")
        with pytest.raises(HeadgateError, match="another request was sent"):
            await kept.answer(ANNA, "POST /v1/streams", "k", b"other", make)

    asyncio.run(run())


def test_keys_are_of_one_principal_and_one_route() -> None:
    async def run() -> None:
        kept, make = KeptAnswers(), Counting()
        for who, what in ((ANNA, "POST /a"), (BERT, "POST /a"), (ANNA, "POST /b")):
            await kept.answer(who, what, "k", who.name.encode(), make)
        assert make.calls == 3

    asyncio.run(run())


def test_two_at_the_same_time_create_once() -> None:
    async def run() -> None:
        kept, make = KeptAnswers(), Counting()
        answers = await asyncio.gather(*(kept.answer(ANNA, "POST /a", "k", b"", make) for _ in range(5)))
        assert make.calls == 1
        assert {bytes(answer.body) for answer in answers} == {b"1"}

    asyncio.run(run())


def test_what_was_refused_may_be_tried_again() -> None:
    async def run() -> None:
        kept, make = KeptAnswers(), Counting(422)
        for _ in range(2):
            await kept.answer(ANNA, "POST /a", "k", b"", make)
        assert make.calls == 2

    asyncio.run(run())


def test_only_the_newest_answers_are_kept() -> None:
    async def run() -> None:
        kept, make = KeptAnswers(kept=2), Counting()
        for key in ("a", "b", "c", "b", "a"):
            await kept.answer(ANNA, "POST /a", key, b"", make)
        assert make.calls == 4  # "b" was kept, "a" had gone

    asyncio.run(run())


@pytest.mark.parametrize("key", ["", "x" * 201, "a\nb"])
def test_keys_that_are_none(key: str) -> None:
    with pytest.raises(HeadgateError, match="1 to 200 printable"):
        checked(key)
