import Foundation
import LFSStorage
import TestSupport
import Testing

@testable import LFSSignedURL

/// A signing server and its store.
typealias SigningServerProcess = StartedServer

extension StartedServer {
    static let all = StartedServers.all { $0.profile == "signed" }

    static var isAvailable: Bool { !all.isEmpty }

    /// The checks of the contract that the store is known to fail.
    var knownDeviations: Set<String> {
        ["signer", "lfs-server-s3"].contains(name)
            ? [
                "a listing is in the order of the keys' bytes",
                "the pages of a listing keep to their limit and contain every object once",
            ] : []
    }

    func storage(
        token: String? = nil, _ change: (inout SignedURLOptions) -> Void = { _ in }
    ) throws -> SignedURLStorage {
        var options = SignedURLOptions()
        options.allowsPlainHTTP = true
        change(&options)
        let token = token ?? secretKey
        return try SignedURLStorage(server: endpoint, authorization: .bearer { _ in token }, options: options)
    }
}
