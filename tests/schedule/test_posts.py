"""Who sends messages between jobs: one that fails is not begun again each minute."""

from consolidator.schedule.posts import Post


def test_a_sender_that_fails_waits_longer_each_time() -> None:
    """A minute, ten, an hour, four; one that ends well, or was told to end, is waited for no longer."""
    now = 1000.0
    post = Post(clock=lambda: now)
    for minutes in (1, 10, 60, 240, 240):
        assert post.end(1, told_to=False) == f"messages: not sent, exit code 1; tried again in {minutes} min"
        now += 60 * minutes - 1
        assert not post.may_begin()
        now += 1
        assert post.may_begin()
    assert post.end(0, told_to=False) is None
    assert post.end(1, told_to=False) == "messages: not sent, exit code 1; tried again in 1 min"
    assert not post.may_begin()
    assert post.end(143, told_to=True) == "messages: stopped; what was not sent waits"
    assert post.may_begin()
