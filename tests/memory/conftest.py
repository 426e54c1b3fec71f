"""Every store, for the tests of memories; they come from the contract of the journal."""

from __future__ import annotations

from tests.contracts.conftest import lasting, place, redis_url, valkey_url

__all__ = ["lasting", "place", "redis_url", "valkey_url"]
