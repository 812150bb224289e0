import LFSHTTPStorage

/// The MD5s in the entity tags of most S3 servers.
extension EntityTag {
    /// The lowercase text if it looks like an MD5 (RFC 1321), which has 32 hex digits. Whether it is one depends on the
    /// provider.
    var md5: String? {
        text.utf8.count == 32 && text.utf8.allSatisfy { Hex.value(of: $0) != nil } ? text.lowercased() : nil
    }

    /// The two halves of a tag that looks like the MD5 of the parts' MD5s, followed by `-` and the number of parts.
    var md5OfParts: (md5: String, count: Int)? {
        guard let dash = text.utf8.firstIndex(of: UInt8(ascii: "-")),
            let count = Int(text[text.utf8.index(after: dash)...]), count > 0,
            let md5 = EntityTag(String(text[..<dash]))?.md5
        else { return nil }
        return (md5, count)
    }
}
