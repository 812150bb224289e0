/// The media type of an object, as a header field.
package enum MediaType {
    /// A type that cannot stand in a header is replaced, so that the file is uploaded.
    package static func field(_ text: String?) -> String {
        guard let text, !text.isEmpty, text.utf8.count <= 255, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { return "application/octet-stream" }
        return text
    }
}
