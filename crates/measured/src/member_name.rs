//! Names of the members of an entity with a `count` or a `matrix`: `bulk.1`, `bulk.2`, ….

/// The name that a member shares with the others: `bulk` of `bulk.7`. `None` for the name of a single entity.
pub fn group_of(name: &str) -> Option<&str> {
    let (group, number) = name.rsplit_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(group)
}

/// Whether the name is that of the entity itself, or of one of its members.
pub fn is_of(name: &str, entity: &str) -> bool {
    name == entity || group_of(name) == Some(entity)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_ends_in_a_number() {
        assert_eq!(group_of("bulk.7"), Some("bulk"));
        assert_eq!(["bulk", "a.b", "a."].map(group_of), [None; 3]);
        assert!(is_of("bulk.7", "bulk") && is_of("bulk", "bulk") && !is_of("bulk.7", "bul"));
    }
}
