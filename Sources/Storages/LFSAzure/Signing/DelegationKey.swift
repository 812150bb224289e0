import Foundation
import LFSHTTPStorage
import LFSStorage

/// A user delegation key, with which the owner of a token signs requests for other clients ("Get User Delegation Key").
/// Its descriptions never show the key.
struct DelegationKey: ExpiringCredentials {
    /// The fields of a signature that identify the key. Names are those of a URL's query, in the order of the string to
    /// sign.
    let fields: [(name: String, value: String)]
    /// The key in base64.
    let value: String
    /// The time at which another key is requested. It is long before the key expires, so that every signature is valid
    /// for its whole lifetime.
    let expiration: Date?

    var description: String { "a user delegation key" }

    /// The seconds that a key is valid, and the seconds that it is used for new signatures. The service allows seven
    /// days.
    static let lifetime: TimeInterval = 86_400
    static let usedFor: TimeInterval = lifetime / 2
    /// The maximum lifetime of a signature.
    static let longestSignature = Duration.seconds(43_200)

    /// - Parameter end: the time at which another key is requested.
    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    init(_ body: [UInt8], renewedAt end: Date) throws(StorageError) {
        let root = try XMLReader.read(body, root: "UserDelegationKey")
        fields = [
            ("skoid", try root.required("SignedOid")), ("sktid", try root.required("SignedTid")),
            ("skt", try root.required("SignedStart")), ("ske", try root.required("SignedExpiry")),
            ("sks", try root.required("SignedService")), ("skv", try root.required("SignedVersion")),
        ]
        value = try root.required("Value")
        expiration = end
    }
}
