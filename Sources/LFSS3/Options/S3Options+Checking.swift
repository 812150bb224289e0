import LFSHTTPStorage
import LFSStorage
import LFSSystem

extension S3Options {
    /// Looks at what would be refused with every file, before the first one.
    ///
    /// Whether a server knows a storage class, it says itself; here only what can be none is refused.
    /// - Throws: ``StorageError/Code/invalidRequest``, with the setting and what it may be.
    func check() throws(StorageError) {
        try Self.check(storageClass, "storage class", "such as STANDARD_IA", also: "_-")
        try Self.check(cannedACL, "canned ACL", "such as bucket-owner-full-control", also: "-")
        if case .kms(let keyID?) = encryption {
            try Self.check(keyID, "key of the key management service", "its id, alias or ARN", also: "_-:/.")
        }
    }

    /// - Parameter region: nil for the default.
    static func check(region: String?) throws(StorageError) {
        try check(region, "region", "such as eu-west-1", also: "-_.")
    }

    private static func check(
        _ value: String?, _ name: String, _ example: String, also marks: String
    ) throws(StorageError) {
        guard let value else { return }
        let isWord = value.utf8.allSatisfy { $0.isLetter || $0.isDigit || marks.utf8.contains($0) }
        guard isWord, (1...2_048).contains(value.utf8.count) else {
            throw StorageError(
                .invalidRequest, "'\(ServerText.excerpt(value))' can be no \(name): write one \(example).")
        }
    }
}
