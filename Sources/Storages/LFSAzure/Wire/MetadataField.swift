/// The fields of a blob's metadata. Their names must be C# identifiers, so they have no hyphens.
enum MetadataField {
    /// The SHA-256 of the whole content in hex.
    static let sha256 = "x-ms-meta-lfssha256"
    /// The user's name for the file, percent-encoded because header fields only allow ASCII.
    static let name = "x-ms-meta-lfsname"
}
