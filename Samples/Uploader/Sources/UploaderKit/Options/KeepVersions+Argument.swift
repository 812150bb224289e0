import ArgumentParser
import CommandLineOptions

extension KeepVersions {
    /// - Throws: `ValidationError` for a text that is neither a time nor one of the two words.
    @Sendable static func parse(_ text: String) throws -> KeepVersions {
        guard let choice = KeepVersions(text) else {
            // A number without a unit has a message of its own.
            _ = try TimeSpan.parse(text)
            throw ValidationError(
                """
                '\(Printable.text(text))' is not a time to keep versions for. Give --keep-versions a time such as 30d \
                or 1y, or forever or none.
                """)
        }
        return choice
    }
}
