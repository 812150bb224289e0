import LFSHTTPStorage

/// What the tags of most S3 servers tell of the bytes.
extension EntityTag {
    /// The text in lowercase when it looks like an MD5 (RFC 1321): 32 hex digits. Only a provider's rules say that it
    /// is one.
    var md5: String? {
        let text = text.lowercased()
        return text.utf8.count == 32 && text.utf8.allSatisfy { Hex.value(of: $0) != nil } ? text : nil
    }

    /// The two halves of a tag that looks like the MD5 over the MD5s of parts, with `-` and their number.
    var md5OfParts: (md5: String, count: Int)? {
        let halves = text.split(separator: "-", omittingEmptySubsequences: false)
        guard halves.count == 2, let md5 = EntityTag(String(halves[0]))?.md5, let count = Int(halves[1]), count > 0
        else { return nil }
        return (md5, count)
    }
}
