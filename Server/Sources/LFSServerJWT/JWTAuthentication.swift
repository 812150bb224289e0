public import Foundation
public import Hummingbird
import JWTKit
public import LFSServer
public import Logging

/// An authenticator for signed tokens of the host's identity provider (JWT, RFC 7519). A token must have the issuer,
/// the audience, a valid time, and a signature of one of the provider's keys.
///
/// The actor owns the keys.
public actor JWTAuthentication: Authenticator {
    private let options: JWTAuthenticationOptions
    private let logger: Logger
    private let interval: Duration
    private let now: @Sendable () -> ContinuousClock.Instant
    private var data: Data
    private var keys: JWTKeyCollection?
    private let list: [JWK]
    private var looked: ContinuousClock.Instant

    /// Reads the key file.
    ///
    /// - Parameters:
    ///   - options: the conditions for valid tokens.
    ///   - logger: receives an error if the key file becomes unreadable. The last valid content stays in effect.
    ///   - interval: the time after which the file is read again.
    /// - Throws: an error of the key file, with a message for the administrator.
    public init(_ options: JWTAuthenticationOptions, logger: Logger, interval: Duration = .seconds(10)) throws {
        try self.init(options, logger: logger, interval: interval, now: { .now })
    }

    /// - Parameter now: returns the current time for the interval.
    init(
        _ options: JWTAuthenticationOptions, logger: Logger, interval: Duration,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws {
        self.options = options
        self.logger = logger
        self.interval = interval
        self.now = now
        looked = now()
        let file = try KeyFile(path: options.keys)
        data = file.data
        list = file.keys
    }

    /// Returns the account of a request's bearer token, or nil if the token is not valid.
    public func name(of request: Request) async throws -> String? {
        guard let token = BearerToken.text(of: request) else { return nil }
        return try await name(ofToken: token)
    }

    /// Returns the time in the claim `exp` of a request's bearer token, or nil for a token without one. The time of a
    /// token that is not valid any more is in the distant past.
    public func expiry(of request: Request) async throws -> Date? {
        guard let token = BearerToken.text(of: request), let claims = try await claims(ofToken: token) else {
            return .distantPast
        }
        return claims.expiresAt.map(Date.init(timeIntervalSince1970:))
    }

    func name(ofToken token: String) async throws -> String? {
        try await claims(ofToken: token)?.account(options)
    }

    private func claims(ofToken token: String) async throws -> Claims? {
        guard let head = TokenHead(of: token), head.isUnderstood(options) else { return nil }
        let keys = try await current()
        do {
            return try await keys.verify(token, as: Claims.self)
        } catch {
            // The reason is not logged or returned, because only the provider needs it.
            return nil
        }
    }

    private func current() async throws -> JWTKeyCollection {
        let now = now()
        if looked.duration(to: now) >= interval {
            looked = now
            do {
                let file = try KeyFile(path: options.keys)
                if file.data != data {
                    keys = try await Self.collection(file.keys, logger: logger)
                    data = file.data
                }
            } catch {
                logger.error(
                    "The file of keys cannot be read, so the previous keys are used.", metadata: ["error": "\(error)"])
            }
        }
        if let keys { return keys }
        let made = try await Self.collection(list, logger: logger)
        // Another call may have read a newer file in the meantime.
        if let keys { return keys }
        keys = made
        return made
    }

    /// - Throws: `KeyFile.Failure` if no key can be used.
    private static func collection(_ list: [JWK], logger: Logger) async throws -> JWTKeyCollection {
        let made = JWTKeyCollection()
        var count = 0
        for key in list {
            do {
                // No key is the default, because a token must name its key.
                try await made.add(jwk: key, isDefault: false)
                count += 1
            } catch {
                logger.error(
                    "A key of the identity provider cannot be used and is skipped.",
                    metadata: ["key": "\(key.keyIdentifier?.string ?? "")", "error": "\(error)"])
            }
        }
        guard count > 0 else { throw KeyFile.Failure(description: "None of the provider's keys can be used.") }
        return made
    }
}
