import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension AzureClient {
    /// Requests a user delegation key. The service issues one only for a token.
    ///
    /// - Throws: ``StorageError/Code/forbidden`` if the owner of the token must not sign, and other errors.
    func delegationKey() async throws -> DelegationKey {
        let now = now
        // The early start tolerates a local clock that is slightly ahead.
        let start = now.addingTimeInterval(-300)
        let times = [start, start.addingTimeInterval(DelegationKey.lifetime)].map { UTCTime($0).signatureText }
        var request = AzureRequest(.post, query: [("restype", "service"), ("comp", "userdelegationkey")])
        request.isAboutService = true
        request.version = AccessSignature.delegatedVersion
        try request.headers.set("content-type", value: "application/xml")
        let text =
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
            + "<KeyInfo><Start>\(times[0])</Start><Expiry>\(times[1])</Expiry></KeyInfo>"
        request.body = .bytes(Array(text.utf8))
        do {
            let response = try await send(request)
            return try DelegationKey(response.body, renewedAt: now.addingTimeInterval(DelegationKey.usedFor))
        } catch let failure as AzureFailure where failure.storageError.code == .forbidden {
            throw StorageError(
                .forbidden,
                message: """
                    Azure returned no signing key: give these credentials the role Storage Blob Delegator of the \
                    account.
                    """,
                cause: failure)
        }
    }
}
