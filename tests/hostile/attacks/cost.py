from tests.hostile.payload import Attack
ATTACK = Attack("cost")
