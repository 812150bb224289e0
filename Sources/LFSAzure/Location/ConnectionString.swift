import Foundation
import LFSHTTPStorage
import LFSStorage

/// What the portal gives as one text: `AccountName=…;AccountKey=…;EndpointSuffix=…`.
///
/// Source: "Configure Azure Storage connection strings".
struct ConnectionString: Sendable {
    let account: String
    let key: String?
    let signature: String?
    /// Of the blob service; nil for Azure's own.
    let endpoint: URL?

    /// - Throws: ``StorageError/Code/unauthorized``; nothing of the text is repeated.
    init(_ text: String) throws(StorageError) {
        var fields: [String: String] = [:]
        for field in text.split(separator: ";") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw StorageError(.unauthorized, "The connection string has a part without '=': copy it anew.")
            }
            fields[parts[0].trimmingCharacters(in: .whitespaces).lowercased()] = String(parts[1])
        }
        if fields["usedevelopmentstorage"]?.lowercased() == "true" {
            // The account and key of every emulator.
            account = fields["accountname"] ?? "devstoreaccount1"
            key =
                fields["accountkey"]
                ?? "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
            signature = nil
            endpoint = try Self.url(fields["blobendpoint"] ?? "http://127.0.0.1:10000/\(account)")
            return
        }
        let server = try fields["blobendpoint"].map { text throws(StorageError) in try Self.url(text) }
        guard let account = fields["accountname"] ?? Self.account(of: server) else {
            throw StorageError(.unauthorized, "The connection string has no AccountName.")
        }
        self.account = account
        key = fields["accountkey"]
        signature = fields["sharedaccesssignature"]
        guard (key == nil) != (signature == nil) else {
            throw StorageError(
                .unauthorized, "The connection string needs one of AccountKey and SharedAccessSignature.")
        }
        if let server {
            endpoint = server
        } else if let suffix = fields["endpointsuffix"] {
            endpoint = try Self.url(
                "\(fields["defaultendpointsprotocol"] ?? "https")://\(account).blob.\(suffix)")
        } else {
            endpoint = nil
        }
    }

    private static func url(_ text: String) throws(StorageError) -> URL {
        guard let url = URL(string: text), url.host?.isEmpty == false else {
            throw StorageError(.unauthorized, "The connection string has an endpoint that is no URL.")
        }
        return url
    }

    /// `https://account.blob.…`.
    private static func account(of url: URL?) -> String? {
        guard let host = url?.host, host.contains(".blob.") else { return nil }
        return host.split(separator: ".").first.map(String.init)
    }
}
