/// The media type of an object in the form of a header field.
package enum MediaType {
    /// Returns the type, or `application/octet-stream` if a header field cannot hold it. The file is uploaded in any
    /// case.
    package static func field(_ text: String?) -> String {
        guard let text, !text.isEmpty, text.utf8.count <= 255, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F })
        else { return "application/octet-stream" }
        return text
    }
}
