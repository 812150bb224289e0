/// The fields of a blob's metadata. Their names have to be identifiers of C#: no hyphen.
enum MetadataField {
    /// The whole content's SHA-256 in hex.
    static let sha256 = "x-ms-meta-lfssha256"
    /// The user's name for the file, percent-encoded: header fields take no other alphabet.
    static let name = "x-ms-meta-lfsname"
}
