import ArgumentParser

extension KeepVersions {
    /// - Throws: `ValidationError` for what is neither a time nor one of the two words.
    @Sendable static func parse(_ text: String) throws -> KeepVersions {
        guard let choice = KeepVersions(text) else {
            throw ValidationError(
                """
                '\(Printable.text(text))' is no time to keep versions for. Give --keep-versions a time such as 12h or \
                30d, up to ten years, or forever or none.
                """)
        }
        return choice
    }
}
