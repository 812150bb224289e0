import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

extension AzureClient {
    /// A new user delegation key; the service gives one for a token only.
    ///
    /// - Throws: ``StorageError/Code/forbidden`` where the token's holder must not sign, and others.
    func delegationKey() async throws -> DelegationKey {
        let now = now
        // A clock that is somewhat ahead does no harm this way.
        let start = now.addingTimeInterval(-300)
        let times = [start, start.addingTimeInterval(DelegationKey.lifetime)].map { UTCTime($0).signatureText }
        var request = AzureRequest(.post, query: [("restype", "service"), ("comp", "userdelegationkey")])
        request.isAboutService = true
        request.version = AccessSignature.delegatedVersion
        try request.headers.set("content-type", "application/xml")
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
                """
                Azure gave no key to sign with: give these credentials the role Storage Blob Delegator of the account.
                """,
                cause: failure)
        }
    }
}
