public import Foundation
import LFSHTTPStorage

/// The keys that sign requests. No description of it shows a secret.
public struct S3Credentials: Sendable, Equatable {
    /// The public half: it stands in every request.
    public var accessKeyID: String
    /// The secret half: it never leaves the process.
    public var secretAccessKey: String
    /// The token that belongs to temporary credentials.
    public var sessionToken: String?
    /// When temporary credentials end; nil when they do not, or when nobody knows.
    public var expiration: Date?

    /// Credentials that are known by now. They are checked by the server alone, at the first request.
    ///
    /// - Parameters:
    ///   - accessKeyID: the public half.
    ///   - secretAccessKey: the secret half.
    ///   - sessionToken: the token of temporary credentials; nil for those that last.
    ///   - expiration: when they end, so that newer ones are asked for before; nil never asks again by itself.
    public init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil, expiration: Date? = nil) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The access key's name, and whether a token belongs to it.
    public var description: String {
        sessionToken == nil ? "S3 credentials \(accessKeyID)" : "temporary S3 credentials \(accessKeyID)"
    }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// The access key's name and the end of its life.
    public var customMirror: Mirror {
        Mirror(self, children: ["accessKeyID": accessKeyID, "expiration": expiration as Any])
    }
}

extension S3Credentials: ExpiringCredentials {}
