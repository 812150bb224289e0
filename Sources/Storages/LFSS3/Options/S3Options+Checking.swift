import LFSHTTPStorage
import LFSStorage
import LFSSystem

extension S3Options {
    /// Rejects values that the server would refuse with every file, before the first upload.
    ///
    /// Only the server knows its storage classes, so this check only rejects impossible names.
    /// - Throws: ``StorageError/Code/invalidRequest``, with the setting and valid values.
    func check() throws(StorageError) {
        try Self.check(storageClass, name: "storage class", example: "such as STANDARD_IA", also: "_-")
        try Self.check(cannedACL, name: "canned ACL", example: "such as bucket-owner-full-control", also: "-")
        if case .kms(let keyID?) = encryption {
            try Self.check(
                keyID, name: "key of the key management service", example: "its id, alias or ARN", also: "_-:/.")
        }
    }

    /// - Parameter region: nil for the default.
    static func check(region: String?) throws(StorageError) {
        try check(region, name: "region", example: "such as eu-west-1", also: "-_.")
    }

    private static func check(
        _ value: String?, name: String, example: String, also marks: String
    ) throws(StorageError) {
        guard let value else { return }
        let isWord = value.utf8.allSatisfy { $0.isLetter || $0.isDigit || marks.utf8.contains($0) }
        guard isWord, (1...2_048).contains(value.utf8.count) else {
            throw StorageError(
                .invalidRequest,
                message: "'\(SanitizedErrorText.excerpt(value))' cannot be a \(name): write one \(example).")
        }
    }
}
