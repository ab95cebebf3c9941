"""A `Filter` as SQL conditions over `memory`, with every value bound."""

from ...model import FLAGS, PROJECTS, TEXTS, TIMES, Filter, to_micros
from ...text.matching import compared, fold_category, fold_tag
from ...text.words import Trait

VISIBLE = "deleted_at IS NULL AND (expires_at IS NULL OR expires_at > :now)"
CURRENT = f"{VISIBLE} AND superseded_at IS NULL"
NOT_A_TURN = "NOT turn"


def conditions(filter: Filter, now: int) -> tuple[str, dict[str, object]]:
    """The WHERE clause for what is visible at `now` (microseconds) and passes the filter, with bindings."""
    where = [VISIBLE]
    values: dict[str, object] = {"now": now}
    where += _turns(filter, values) + _superseding(filter, values)
    for column in TEXTS:
        if (value := compared(filter, column)) is not None:
            where.append(f"{column} = :{column}")
            values[column] = value
    for column in FLAGS:
        if (wanted := getattr(filter, column)) is not None:
            # A row of before the column has no value there.
            where.append(column if wanted else f"{column} IS NOT 1")
    for column in TIMES:
        bounds = zip((">=", "<"), filter.between(column), filter.between(column, days=True), strict=True)
        for name, (comparison, time, day) in zip(("after", "before"), bounds, strict=True):
            if time is None or day is None:
                continue
            bound = f":{column}_{name}"
            values[bound[1:]] = to_micros(time)
            if day != time:
                bound = f"CASE WHEN traits & {int(Trait.DAY)} THEN {bound}_day ELSE {bound} END"
                values[f"{column}_{name}_day"] = to_micros(day)
            where.append(f"{column} {comparison} {bound}")
    where += _scope(filter, values)
    if filter.categories:
        names = {f"category{i}": fold_category(category) for i, category in enumerate(filter.categories)}
        where.append(f"category IN ({', '.join(f':{name}' for name in names)})")
        values |= names
    for i, tag in enumerate(filter.tags):
        where.append(f"EXISTS (SELECT 1 FROM tag WHERE tag.n = memory.n AND tag.tag = :tag{i})")
        values[f"tag{i}"] = fold_tag(tag)
    for i, (key, value) in enumerate(filter.metadata.items()):
        where.append(
            "EXISTS (SELECT 1 FROM json_each(memory.image, '$.metadata') AS pair "
            f"WHERE pair.key = :key{i} AND pair.value IS :value{i} AND (pair.type IN ('true', 'false')) = :bool{i} "
            "AND pair.type NOT IN ('array', 'object'))"
        )
        values |= {f"key{i}": key, f"value{i}": value, f"bool{i}": isinstance(value, bool)}
    return " AND ".join(where), values


def _turns(filter: Filter, values: dict[str, object]) -> list[str]:
    said = ["turn"] if filter.episodes else ["turn", "episode"]
    if not filter.include_turns:
        return [f"NOT {kind}" for kind in said]
    if filter.turns_of is None:
        return []
    values["turns_of"] = filter.turns_of
    return [f"(NOT {kind} OR conversation_id = :turns_of)" for kind in said]


def _superseding(filter: Filter, values: dict[str, object]) -> list[str]:
    if filter.include_superseded:
        return []
    if filter.as_of is None:
        return ["superseded_at IS NULL"]
    values["as_of"] = to_micros(filter.as_of)
    return ["(superseded_at IS NULL OR superseded_at > :as_of)"]


def _scope(filter: Filter, values: dict[str, object]) -> list[str]:
    where = []
    if filter.scope is not None:
        values["scope"] = filter.scope
        where.append(_within("scope", filter.scope, values) if filter.include_child_scopes else "scope = :scope")
    if filter.project is not None:
        others, own = _within("projects", PROJECTS, values), _within("project", filter.project, values)
        where.append(f"(NOT {others} OR {own})")
    return where


def _within(name: str, scope: str, values: dict[str, object]) -> str:
    # "0" is the character behind "/", so this is the range of all that begins with the scope and a slash.
    values |= {name: scope, f"{name}_below": f"{scope}/", f"{name}_behind": f"{scope}0"}
    return f"(scope = :{name} OR (scope >= :{name}_below AND scope < :{name}_behind))"
