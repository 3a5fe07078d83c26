"""What scripts/try-openapi changes in the requests that Schemathesis makes up: diagnoses are short, and some cases exist."""
import schemathesis

# As in scripts/try-openapi.
CASES = ["first", "second"]
SHORTEST_S = 1


def is_length(value):
    return str(value).isascii() and str(value).isdigit() and int(value) <= 30


def some(value):
    """Whether a case that exists is put in place of this value: for every other one, and always for the same."""
    return len(str(value)) % 2 == 0


@schemathesis.hook
def map_query(context, query):
    path = context.operation.path
    if path == "/api/diagnose":
        query = dict(query or {})
        # Without a length it would be 10 s.
        if is_length(query.get("for_s", 30)):
            query["for_s"] = SHORTEST_S
    elif path == "/api/compare" and query and some(query.get("case")):
        query = {**query, "case": CASES}
    return query


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if path_parameters and "id" in path_parameters and some(path_parameters["id"]):
        return {**path_parameters, "id": CASES[0]}
    return path_parameters
