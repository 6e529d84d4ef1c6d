//! Which labels the result of an expression has, and whether its parts can match at all.

use promql_parser::label::Matchers;
use promql_parser::parser::{
    AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, VectorMatchCardinality, VectorSelector,
};

use super::{Catalogue, Labels};

/// Labels of a vector; none of a scalar or a string.
type Found = Result<Option<Labels>, String>;

/// Functions that make a rate out of a counter.
const OF_COUNTERS: [&str; 4] = ["rate", "irate", "increase", "resets"];

/// Labels of the result of an expression.
pub(super) fn labels_of(catalogue: &Catalogue, expr: &Expr) -> Found {
    match expr {
        Expr::Aggregate(aggregate) => aggregated(catalogue, aggregate),
        Expr::Unary(unary) => labels_of(catalogue, &unary.expr),
        Expr::Binary(binary) => combined(catalogue, binary),
        Expr::Paren(paren) => labels_of(catalogue, &paren.expr),
        Expr::Subquery(subquery) => labels_of(catalogue, &subquery.expr),
        Expr::NumberLiteral(_) | Expr::StringLiteral(_) => Ok(None),
        Expr::VectorSelector(selector) => selected(catalogue, selector, false).map(Some),
        Expr::MatrixSelector(matrix) => selected(catalogue, &matrix.vs, false).map(Some),
        Expr::Call(call) => called(catalogue, call),
        Expr::Extension(_) => Err("an extension of the language".to_owned()),
    }
}

fn selected(
    catalogue: &Catalogue,
    selector: &VectorSelector,
    in_rate: bool,
) -> Result<Labels, String> {
    let names = names_of(selector)?;
    let mut common: Option<Labels> = None;
    for name in &names {
        let series = catalogue.0.get(name);
        let series = series.ok_or_else(|| format!("no metric is called {name}"))?;
        if series.cumulative && !in_rate {
            return Err(format!("{name} is a counter outside rate() and increase()"));
        }
        common = Some(match common {
            Some(common) => &common & &series.labels,
            None => series.labels.clone(),
        });
    }
    let common = common.unwrap_or_default();
    for matcher in of(&selector.matchers) {
        if !common.contains(matcher) {
            return Err(format!("{} has no label {matcher}", names.join(", ")));
        }
    }
    Ok(common)
}

fn names_of(selector: &VectorSelector) -> Result<Vec<String>, String> {
    if let Some(name) = &selector.name {
        return Ok(vec![name.clone()]);
    }
    let by_name = selector.matchers.find_matchers("__name__");
    match by_name.first() {
        Some(matcher) => Ok(matcher.value.split('|').map(str::to_owned).collect()),
        None => Err("a selector without a name".to_owned()),
    }
}

fn of(matchers: &Matchers) -> impl Iterator<Item = &String> {
    let names = matchers.matchers.iter().map(|matcher| &matcher.name);
    names.filter(|name| *name != "__name__")
}

fn aggregated(catalogue: &Catalogue, aggregate: &AggregateExpr) -> Found {
    let inner = labels_of(catalogue, &aggregate.expr)?.unwrap_or_default();
    let operator = aggregate.op.to_string();
    let Some(modifier) = &aggregate.modifier else {
        return Ok(Some(Labels::new()));
    };
    let named = set(&modifier.labels().labels);
    if let Some(missing) = named.difference(&inner).next() {
        return Err(format!(
            "{operator} by or without {missing}, which is not there"
        ));
    }
    Ok(Some(match (operator.as_str(), modifier) {
        ("topk" | "bottomk", _) => inner,
        (_, LabelModifier::Include(_)) => named,
        (_, LabelModifier::Exclude(_)) => &inner - &named,
    }))
}

fn combined(catalogue: &Catalogue, binary: &BinaryExpr) -> Found {
    let left = labels_of(catalogue, &binary.lhs)?;
    let right = labels_of(catalogue, &binary.rhs)?;
    let (left, right) = match (left, right) {
        (Some(left), Some(right)) => (left, right),
        (left, right) => return Ok(left.or(right)),
    };
    let modifier = binary.modifier.as_ref();
    let matching = modifier.and_then(|modifier| modifier.matching.as_ref());
    let on = match matching {
        None if left == right => left.clone(),
        None => {
            return Err(format!(
                "{} between {left:?} and {right:?} never matches",
                binary.op
            ));
        }
        Some(LabelModifier::Include(labels)) => set(&labels.labels),
        Some(LabelModifier::Exclude(labels)) => &left - &set(&labels.labels),
    };
    if let Some(missing) = on
        .iter()
        .find(|l| !left.contains(*l) || !right.contains(*l))
    {
        return Err(format!("{} on {missing}, which a side lacks", binary.op));
    }
    if binary.op.is_set_operator() {
        return Ok(Some(match binary.op.to_string().as_str() {
            "or" => &left | &right,
            _ => left,
        }));
    }
    Ok(Some(match modifier.map(|modifier| &modifier.card) {
        Some(VectorMatchCardinality::ManyToOne(more)) => &left | &set(&more.labels),
        Some(VectorMatchCardinality::OneToMany(more)) => &right | &set(&more.labels),
        _ => on,
    }))
}

fn called(catalogue: &Catalogue, call: &Call) -> Found {
    let name = call.func.name;
    if OF_COUNTERS.contains(&name) {
        return match call.args.args.first().map(|arg| arg.as_ref()) {
            Some(Expr::MatrixSelector(matrix)) => selected(catalogue, &matrix.vs, true).map(Some),
            _ => Err(format!("{name}() of something else than a selector")),
        };
    }
    let mut inner = None;
    for arg in &call.args.args {
        inner = inner.or(labels_of(catalogue, arg)?);
    }
    match (name, inner) {
        ("histogram_quantile", Some(mut labels)) => {
            if !labels.remove("le") {
                return Err("histogram_quantile() of something without le".to_owned());
            }
            Ok(Some(labels))
        }
        ("absent" | "absent_over_time" | "vector", _) => Ok(Some(Labels::new())),
        ("time" | "scalar", _) => Ok(None),
        ("label_replace" | "label_join", _) => Err(format!("{name}() is not understood here")),
        (_, inner) => Ok(inner),
    }
}

fn set(names: &[String]) -> Labels {
    names.iter().cloned().collect()
}
