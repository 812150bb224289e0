import Foundation
import LFSHTTPStorage
import LFSStorage

/// What a holder of a token signs requests for others with ("Get User Delegation Key"). No description of it shows it.
struct DelegationKey: ExpiringCredentials {
    /// The fields of a signature that tell the service which key it was: names as in the query of a URL, in the order
    /// of the string that is signed.
    let fields: [(name: String, value: String)]
    /// In base64.
    let value: String
    /// When another one is fetched, which is long before its own end, so that every signature outlives its request.
    let expiration: Date?

    var description: String { "a user delegation key" }

    /// How long a key lasts, and how long it is used for new signatures. The service allows seven days.
    static let lifetime: TimeInterval = 86_400
    static let usedFor: TimeInterval = lifetime / 2
    /// No signature lives longer.
    static let longestSignature = Duration.seconds(43_200)

    /// - Parameter end: when another one is to be fetched.
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
