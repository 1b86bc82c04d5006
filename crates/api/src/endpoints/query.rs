//! Query string of a request: names and values in their original order.

use super::{ApiError, Kind, Param};

/// Names and values of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads the part after the `?` of an address.
    pub fn parse(text: &str) -> Query {
        Query(form_urlencoded::parse(text.as_bytes()).into_owned().collect())
    }

    /// A query of these pairs.
    pub fn of(pairs: impl IntoIterator<Item = (String, String)>) -> Query {
        Query(pairs.into_iter().collect())
    }

    /// The query as it is after the `?` of an address.
    pub fn text(&self) -> String {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
    }

    /// Names and values in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    /// The query with one more pair.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Query {
        self.0.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The last value of `name`; an empty one counts as none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// Every value of `name`.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(n, v)| n == name && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// Names and values of which the name begins with `prefix`, without it.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.0.iter().filter_map(move |(n, v)| Some((n.strip_prefix(prefix)?, v.as_str())))
    }

    /// The value of `name` as a number.
    ///
    /// # Errors
    /// [`ApiError::Wrong`] when it is none.
    pub fn number(&self, name: &str) -> Result<Option<f64>, ApiError> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite());
        self.get(name).map(|text| number(text).ok_or_else(|| wrong(name, "a number", text))).transpose()
    }

    /// The value of `name` as a whole number.
    ///
    /// # Errors
    /// [`ApiError::Wrong`] when it is none.
    pub fn count(&self, name: &str) -> Result<Option<usize>, ApiError> {
        self.get(name).map(|text| text.parse().map_err(|_| wrong(name, "a whole number", text))).transpose()
    }

    /// Returns true if `name` is there and not `false`.
    pub fn flag(&self, name: &str) -> bool {
        self.0.iter().rev().find(|(n, _)| n == name).is_some_and(|(_, v)| v != "false" && v != "0")
    }

    /// The value of `name`.
    ///
    /// # Errors
    /// [`ApiError::Wrong`] when there is none.
    pub fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.get(name).ok_or_else(|| ApiError::Wrong(format!("`{name}` is missing")))
    }

    /// Refuses what `params` does not have; a name that ends with a dot stands for all that begin with it.
    pub(super) fn check(&self, params: &[Param]) -> Result<(), ApiError> {
        for (name, value) in &self.0 {
            let fits = |p: &&Param| p.name == name || (p.name.ends_with('.') && name.starts_with(p.name));
            let Some(param) = params.iter().find(fits) else {
                let known: Vec<&str> = params.iter().map(|p| p.name).collect();
                let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                return Err(ApiError::Wrong(format!("there is no parameter `{name}`: {known}")));
            };
            match param.kind {
                Kind::Number => self.number(name).map(drop)?,
                Kind::Count => self.count(name).map(drop)?,
                Kind::Flag if !["", "true", "false", "1", "0"].contains(&value.as_str()) => {
                    return Err(wrong(name, "true or false", value));
                }
                Kind::Flag | Kind::Text => {}
            }
        }
        params.iter().filter(|p| p.required).try_for_each(|p| self.required(p.name).map(drop))
    }
}

fn wrong(name: &str, expected: &str, text: &str) -> ApiError {
    ApiError::Wrong(format!("`{name}` is {expected}, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::{Kind, Param, Query};

    const PARAMS: &[Param] = &[
        Param { name: "run", about: "", kind: Kind::Text, many: true, required: true },
        Param { name: "bins", about: "", kind: Kind::Count, many: false, required: false },
        Param { name: "p.", about: "", kind: Kind::Text, many: true, required: false },
    ];

    #[test]
    fn a_query_is_read_and_written() {
        let query = Query::parse("run=a%26b&run=c&bins=5&p.device=sda");
        assert_eq!(query.all("run").collect::<Vec<_>>(), ["a&b", "c"]);
        assert_eq!(query.count("bins").unwrap(), Some(5));
        assert_eq!(query.under("p.").collect::<Vec<_>>(), [("device", "sda")]);
        assert_eq!(Query::parse(&query.text()), query);
        assert!(query.check(PARAMS).is_ok());
    }

    #[test]
    fn a_wrong_query_is_refused_in_words() {
        let said = |text: &str| Query::parse(text).check(PARAMS).unwrap_err().to_string();
        assert_eq!(said("bins=5"), "`run` is missing");
        assert_eq!(said("run=a&bins=x"), "`bins` is a whole number, not `x`");
        assert!(said("run=a&nothing=1").starts_with("there is no parameter `nothing`"));
    }
}
