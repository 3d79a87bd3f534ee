//! Values of a grid as labels show them: a table of TOML as few words.

use toml::Value;

/// A value of a setting as a label: `fq_codel` of `{ fq_codel = {} }`, `fifo:packets=500` of `{ fifo = { packets = 500 } }`; any
/// other value is returned as it is.
pub fn value_label(value: &str) -> String {
    if !value.trim_start().starts_with('{') {
        return value.to_owned();
    }
    let read = toml::from_str::<toml::Table>(&format!("value = {value}"));
    let read = read.ok().and_then(|mut table| table.remove("value"));
    read.map_or_else(|| value.to_owned(), |value| words(&value))
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| match value {
                Value::Table(inner) if inner.is_empty() => key.clone(),
                Value::Table(_) => format!("{key}:{}", words(value)),
                _ => format!("{key}={}", words(value)),
            });
            entries.collect::<Vec<_>>().join(" ")
        }
        Value::Array(values) => values.iter().map(words).collect::<Vec<_>>().join(" "),
        Value::Integer(number) => number.to_string(),
        Value::Float(number) => number.to_string(),
        Value::Boolean(flag) => flag.to_string(),
        Value::Datetime(time) => time.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_no_toml() {
        for (value, label) in [
            ("{ fq_codel = {} }", "fq_codel"),
            ("{fifo={packets=500}}", "fifo:packets=500"),
            ("{ codel = { target = \"5 ms\", ecn = true } }", "codel:target=5 ms ecn=true"),
            ("10 ms", "10 ms"),
            ("{ broken", "{ broken"),
        ] {
            assert_eq!(value_label(value), label);
        }
    }
}
