package import LFSHTTPStorage

/// The body of "CompleteMultipartUpload" of the Amazon S3 API reference.
package struct CompleteMultipartBody: Sendable {
    /// A part with the values from the reply to its upload.
    package struct Part: Hashable, Sendable {
        /// 1 to 10,000.
        package var number: Int
        package var entityTag: EntityTag
        /// The base64 of the part's SHA-256, if the upload was started with that algorithm.
        package var checksumSHA256: String?

        package init(number: Int, entityTag: EntityTag, checksumSHA256: String? = nil) {
            self.number = number
            self.entityTag = entityTag
            self.checksumSHA256 = checksumSHA256
        }
    }

    /// The XML in UTF-8.
    package let bytes: [UInt8]

    /// Creates the body from parts in any order. They are sorted by number, as the server requires.
    package init(_ parts: [Part]) {
        var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for part in parts.sorted(by: { $0.number < $1.number }) {
            text += "<Part><PartNumber>\(part.number)</PartNumber><ETag>\(Self.escaped(part.entityTag.quoted))</ETag>"
            if let checksum = part.checksumSHA256 {
                text += "<ChecksumSHA256>\(Self.escaped(checksum))</ChecksumSHA256>"
            }
            text += "</Part>"
        }
        bytes = Array((text + "</CompleteMultipartUpload>").utf8)
    }

    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.unicodeScalars.append(character)
            }
        }
        return result
    }
}
