public import Foundation
import LFSHTTPStorage

/// The keys that sign requests. Their descriptions never show a secret.
public struct S3Credentials: Sendable, Equatable {
    /// The public half of the key. Every request contains it.
    package var accessKeyID: String
    /// The secret half of the key. It never leaves the process.
    package var secretAccessKey: String
    /// The token of temporary credentials.
    package var sessionToken: String?
    /// The time at which temporary credentials expire. nil if they do not expire, or if the time is unknown.
    package var expiration: Date?

    /// Creates credentials from known values. Only the server checks them, at the first request.
    ///
    /// - Parameters:
    ///   - accessKeyID: the public half of the key.
    ///   - secretAccessKey: the secret half of the key.
    ///   - sessionToken: the token of temporary credentials, or nil for permanent ones.
    ///   - expiration: the time at which they expire. The provider is asked for new ones in advance. With nil, it is
    ///     only asked again when the server refuses the credentials.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

extension S3Credentials: CustomStringConvertible, CustomReflectable {
    /// The ID of the access key, and whether the credentials are temporary.
    public var description: String {
        sessionToken == nil ? "S3 credentials \(accessKeyID)" : "temporary S3 credentials \(accessKeyID)"
    }

    /// The ID of the access key, and the expiration.
    public var customMirror: Mirror {
        Mirror(self, children: ["accessKeyID": accessKeyID, "expiration": expiration as Any])
    }
}

extension S3Credentials: ExpiringCredentials {}
