"""
Anthropic and OpenAI on 127.0.0.1, for tests in which the real SDKs talk to them.

The fixture `provider` (tests/conftest.py) is a running server for both. A request that the real ones would refuse is
answered 400 in their shape, and fails the test at its end, unless that empties `provider.complaints`. Made by hand:
`with serving(Provider()) as provider` (tests.providers.server). A process of its own: tests.providers.serve.

    provider.anthropic_url, openai_url           base URLs; address: what both begin with
    provider.anthropic_environ, openai_environ   the variables that the SDKs read: keys and base URLs
    provider.key                                 the one key that is right, "test-key"; None: any, as at a local server
    provider.now                                 what the provider takes for now (aware): dates of replies and batches

What the model says: `provider.answer = function of (memories of the prompt, request)`; `concatenate` unless it is set.
It may return a dict (sent as JSON), a string (sent as it is), Said(text, stop=, refusal=, thinking=) or a Behaviour. It
is called from many threads. A text longer than `max_tokens` is cut off, unless `stop` is given. In
tests.providers.answers:

    right forms    concatenate, newest (update), distinct
    lies           invent_number, drop_number, drop_date, drop_name, obey
    wrong forms    refuse_in_prose, refuse, filtered, empty, cut_off, cut_off_unsaid, violate_schema, wrong_type,
                   wrong_types_within, unknown_verdict, gigantic
    made of others in_prose(answer), fenced(answer), thinking_aloud(answer), thoughtful(answer),
                   knows_no_schema(answer), knows_no_form(answer)
    for one        when("word", answer, otherwise): for the clusters with a memory that holds the word
    in time        in_turn(answer, answer, ...): the first, second ... time that the same cluster is asked about

`when` and `in_turn` take a Behaviour wherever they take an answer: one cluster fails, the others do not.

How calls go wrong (tests.providers.behaviours): rate_limited(seconds=, milliseconds=, until=), quota_spent(),
server_error(500, done=), overloaded(), key_refused(), no_such_model(), too_long(), against_policy(),
error(status, message), told_whether_to_retry(behaviour, retry), html_page(status), not_json(), empty_body(),
dropped("before the headers" | "after the headers" | "half the body", done=), half_a_body(), wrong_length(off),
slow(event, then=). What is `done` is paid, though nobody hears of it: a batch is made.

    provider.then(rate_limited(seconds=0), None, overloaded(), to="POST /v1/messages")   the next calls, one each
    provider.always(html_page(), to="POST *")                                            until provider.heal()

Batches stay under way until the test ends them; the model answers then.

    provider.batches.end()                       each item answered (by a Behaviour: errored)
    provider.batches.end("expired")              or errored, canceled, missing (in no results): all items
    provider.batches.end(function of an Item)    each its own; None: answered. Item: custom_id, body, contents, prompt
    provider.batches.at_once = True              each ends as soon as it is made
    provider.batches.page_size = 2               lists are in pages of at most so many
    provider.batches.made, under_way             Batch: id, items, state, metadata, ...
    provider.batches.fail(message)               OpenAI: not begun, status failed
    provider.batches.archive(batch), lose(batch) its results are gone; nobody knows of it

What happened:

    provider.calls, calls_to("POST /v1/messages")   Call: number, method, path, query, headers, body, status, behaviour
    provider.asked                                  what the model worked on, which is paid. Asked: contents, sources,
                                                    prompt, body, said, input_tokens, output_tokens, call, custom_id
    provider.embedded                               texts that vectors were paid for
    provider.spent                                  (questions, input_tokens, output_tokens, embedding_tokens)
    provider.paid_twice()                           clusters whose very same prompt was paid, or is under way, twice
    provider.most_at_once                           calls under way at the same time, at most
    provider.wait_for_calls(number, to)             until so many have come in; wait_for_calls_done(): none under way

Vectors are made of hashed words (tests.providers.vectors); `provider.vector_of = function of (text, model, dimensions)`
makes others.
"""
