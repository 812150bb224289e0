import Foundation
import LFSHTTPStorage
import LFSStorage

/// A connection string from the portal: `AccountName=…;AccountKey=…;EndpointSuffix=…`.
///
/// Source: "Configure Azure Storage connection strings".
struct ConnectionString: Sendable {
    let account: String
    let key: String?
    let signature: String?
    /// The URL of the blob service, or nil for Azure's public endpoint.
    let endpoint: URL?

    /// - Throws: ``StorageError/Code/unauthorized``. The message never repeats the text.
    init(_ text: String) throws(StorageError) {
        var fields: [String: String] = [:]
        for field in text.split(separator: ";") {
            let parts = field.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else {
                throw StorageError(
                    .unauthorized, message: "The connection string has a part without '=': copy it again.")
            }
            fields[parts[0].trimmingCharacters(in: .whitespaces).lowercased()] = String(parts[1])
        }
        if fields["usedevelopmentstorage"]?.lowercased() == "true" {
            // The account and key that all emulators use.
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
            throw StorageError(.unauthorized, message: "The connection string has no AccountName.")
        }
        self.account = account
        key = fields["accountkey"]
        signature = fields["sharedaccesssignature"]
        guard (key == nil) != (signature == nil) else {
            throw StorageError(
                .unauthorized, message: "The connection string needs either AccountKey or SharedAccessSignature.")
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
            throw StorageError(.unauthorized, message: "The connection string has an endpoint that is not a URL.")
        }
        return url
    }

    /// Returns the account in the host of the URL: `https://account.blob.…`.
    private static func account(of url: URL?) -> String? {
        guard let host = url?.host, host.contains(".blob.") else { return nil }
        return host.split(separator: ".").first.map(String.init)
    }
}
