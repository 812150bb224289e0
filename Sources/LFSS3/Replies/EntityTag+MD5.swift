import LFSHTTPStorage

/// What the tags of most S3 servers tell of the bytes.
extension EntityTag {
    /// The text in lowercase when it looks like an MD5 (RFC 1321): 32 hex digits. Only a provider's rules say that it
    /// is one.
    var md5: String? {
        text.utf8.count == 32 && text.utf8.allSatisfy { Hex.value(of: $0) != nil } ? text.lowercased() : nil
    }

    /// The two halves of a tag that looks like the MD5 over the MD5s of parts, with `-` and their number.
    var md5OfParts: (md5: String, count: Int)? {
        guard let dash = text.utf8.firstIndex(of: UInt8(ascii: "-")),
            let count = Int(text[text.utf8.index(after: dash)...]), count > 0,
            let md5 = EntityTag(String(text[..<dash]))?.md5
        else { return nil }
        return (md5, count)
    }
}
