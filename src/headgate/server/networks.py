"""Whose an address is: limits count by it."""

from __future__ import annotations

import ipaddress

PREFIX = 64  # bits of an IPv6 address that name a network, in which everybody has as many addresses as they like


def network(address: str) -> str:
    """The address, or the network of one of IPv6; IPv4 addresses as a socket of IPv6 writes them are what they are.

    >>> network("2001:db8::1:2"), network("192.0.2.1"), network("::ffff:192.0.2.1"), network("fe80::1%eth0"), network("?")
    ('2001:db8::/64', '192.0.2.1', '192.0.2.1', 'fe80::/64', '?')
    """  # noqa: E501
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is None:
            return str(ipaddress.ip_network((found, PREFIX), strict=False))
        found = found.ipv4_mapped
    return str(found)
