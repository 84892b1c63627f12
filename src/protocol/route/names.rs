//! The names of routes: `<base>~<slug>`.

/// What may follow `~` in the name of a route.
const LABELS: [&str; 4] = ["srv.", "cap.", "stk.", "reg."];

/// The name of the queue of a route; the base itself for the slug "".
#[must_use]
pub fn queue_of(base: &str, slug: &str) -> String {
    match slug {
        "" => base.to_owned(),
        slug => format!("{base}~{slug}"),
    }
}

/// The base and the slug of a queue that is a route, by its name.
#[must_use]
pub fn split_name(queue: &str) -> Option<(&str, &str)> {
    let (base, slug) = queue.rsplit_once('~')?;
    let fields = slug.strip_prefix("any.").or_else(|| slug.strip_prefix("each.")).unwrap_or(slug);
    let named = LABELS.iter().any(|label| fields.len() > label.len() && fields.starts_with(label));
    (named && !base.is_empty()).then_some((base, slug))
}
