/// The version of this program.
enum ServerVersion {
    /// The version as in the changelog.
    static let text = "0.1.0"
}
