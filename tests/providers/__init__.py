"""
Anthropic and OpenAI on 127.0.0.1, for tests in which the real SDKs talk to them.

The fixture `provider` (tests/conftest.py) is a running server for both. A request that the real ones would refuse is
answered 400 in their shape, and fails the test at its end, unless it empties `provider.complaints`.

    provider.anthropic_url, provider.openai_url, provider.key     base URLs and the one key that is right ("test-key";
                                                                   None: any key will do, as at a local server)
    provider.anthropic_environ, provider.openai_environ           the variables that the SDKs read

What the model says: `provider.answer = function of (memories of the prompt, request)`; `concatenate` where a test says
nothing. It returns a dict (sent as JSON), a string (as it is), Said(text, stop=..., refusal=...) or a Behaviour.
Ready-made in tests.providers.answers: concatenate, newest, distinct, invent_number, drop_number, drop_date, drop_name,
refuse_in_prose, refuse, filtered, empty, cut_off, cut_off_unsaid, violate_schema, wrong_type, wrong_types_within,
unknown_verdict, gigantic, obey; and made of others: in_prose(answer), fenced(answer), when("word", answer, otherwise)
for one cluster alone, in_turn(answer, answer, ...) for the first, second ... time that a cluster is asked about.
Where when and in_turn take an answer they take a Behaviour too. A text longer than `max_tokens` is cut off.

How calls go wrong: tests.providers.behaviours: rate_limited(seconds=, milliseconds=, until=), quota_spent(),
server_error(500 | 503 | ..., done=), overloaded(), key_refused(), no_such_model(), html_page(), not_json(),
empty_body(), dropped("before the headers" | "after the headers" | "half the body", done=), half_a_body(),
wrong_length(off), slow(event, then=). What is `done` is paid, though nobody hears of it.

    provider.then(rate_limited(seconds=0), None, overloaded(), to="POST /v1/messages")    the next calls, one each
    provider.always(html_page(), to="POST *"); provider.heal()

What happened: provider.calls, calls_to("POST /v1/messages") (Call: number, method, path, query, headers, body, status,
behaviour), asked and paid (Asked: sources, contents, prompt, body, tokens), embedded (texts), spent (questions and
tokens), paid_twice(), most_at_once, wait_for_calls(number, to).

Vectors are made of hashed words (tests.providers.vectors); `provider.vector_of` may be set to another function.
"""
