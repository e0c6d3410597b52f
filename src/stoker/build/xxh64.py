"""The hash XXH64 with seed 0, as its specification describes it.

Names of volumes end with it; with another hash all pods with such volumes would be restarted at a
takeover. Names are short, so that it is fast enough.
"""

from typing import Final

_MASK: Final = (1 << 64) - 1
_PRIME_1: Final = 0x9E3779B185EBCA87
_PRIME_2: Final = 0xC2B2AE3D27D4EB4F
_PRIME_3: Final = 0x165667B19E3779F9
_PRIME_4: Final = 0x85EBCA77C2B2AE63
_PRIME_5: Final = 0x27D4EB2F165667C5
_STRIPE: Final = 32


def xxh64(data: bytes) -> int:
    """The hash of some bytes."""
    state, rest = _stripes(data) if len(data) >= _STRIPE else (_PRIME_5, data)
    state = (state + len(data)) & _MASK
    while len(rest) >= 8:
        lane, rest = _number(rest[:8]), rest[8:]
        state = (_rotated(state ^ _round(0, lane), 27) * _PRIME_1 + _PRIME_4) & _MASK
    if len(rest) >= 4:
        lane, rest = _number(rest[:4]), rest[4:]
        state = (_rotated(state ^ (lane * _PRIME_1 & _MASK), 23) * _PRIME_2 + _PRIME_3) & _MASK
    for byte in rest:
        state = _rotated(state ^ (byte * _PRIME_5 & _MASK), 11) * _PRIME_1 & _MASK
    return _avalanche(state)


def _stripes(data: bytes) -> tuple[int, bytes]:
    """The state after all whole stripes of four lanes, and the bytes after them."""
    lanes = [(_PRIME_1 + _PRIME_2) & _MASK, _PRIME_2, 0, -_PRIME_1 & _MASK]
    end = len(data) - len(data) % _STRIPE
    for start in range(0, end, 8):
        lane = start // 8 % 4
        lanes[lane] = _round(lanes[lane], _number(data[start : start + 8]))
    state = sum(map(_rotated, lanes, (1, 7, 12, 18))) & _MASK
    for lane_state in lanes:
        state = ((state ^ _round(0, lane_state)) * _PRIME_1 + _PRIME_4) & _MASK
    return state, data[end:]


def _round(state: int, lane: int) -> int:
    return _rotated((state + lane * _PRIME_2) & _MASK, 31) * _PRIME_1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & _MASK


def _number(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _avalanche(state: int) -> int:
    state = (state ^ state >> 33) * _PRIME_2 & _MASK
    state = (state ^ state >> 29) * _PRIME_3 & _MASK
    return state ^ state >> 32
