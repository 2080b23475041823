"""Places: the oldest gives way, and who left takes none."""

from tableveil.fair_use import Places


def test_the_oldest_gives_way() -> None:
    places, ended = Places(2), list[str]()
    leave = places.take(lambda: ended.append("a"))
    places.take(lambda: ended.append("b"))
    leave()
    with places.taken(lambda: ended.append("c")):
        assert ended == []
        places.take(lambda: ended.append("d"))
        assert ended == ["b"]
        places.take(lambda: ended.append("e"))
        assert ended == ["b", "c"]
    places.take(lambda: ended.append("f"))
    assert ended == ["b", "c", "d"], "who lost a place leaves nobody else's"
