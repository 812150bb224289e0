import Crypto
import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// A login with AWS IAM Identity Center by `aws sso login`, and the role that a profile assumes with it.
///
/// Sources: "IAM Identity Center credential provider" in the AWS SDKs and Tools reference guide. `GetRoleCredentials`
/// in the IAM Identity Center Portal API reference.
struct SSOLogin: Sendable {
    private let profile: String
    /// The text whose hash is the name of the cache file: the name of the session, or the start URL of an older
    /// profile.
    private let cacheKey: String
    private let region: String
    private let account: String
    private let role: String
    /// The folder `~/.aws/sso/cache`.
    private let cache: String
    /// `AWS_ENDPOINT_URL_SSO`, or nil for Amazon's endpoint.
    private let endpoint: URL?

    /// Returns nil for a profile without such a login.
    ///
    /// - Throws: `StorageError.Code.unauthorized` for a profile with missing settings.
    init?(_ profile: AWSEnvironment.Profile, environment: AWSEnvironment) throws(StorageError) {
        guard let key = profile["sso_session"] ?? profile["sso_start_url"] else { return nil }
        let settings = profile.ssoSession ?? [:]
        guard let region = settings["sso_region"] ?? profile["sso_region"], let account = profile["sso_account_id"],
            let role = profile["sso_role_name"]
        else {
            throw StorageError(
                .unauthorized,
                message:
                    "The profile '\(profile.name)' lacks sso_region, sso_account_id or sso_role_name: 'aws configure "
                    + "sso' writes them.")
        }
        guard region.utf8.allSatisfy({ $0 == 0x2D || (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) }) else {
            throw StorageError(
                .unauthorized, message: "The sso_region of the profile '\(profile.name)' is not a region.")
        }
        self.profile = profile.name
        cacheKey = key
        self.region = region
        self.account = account
        self.role = role
        cache = environment.home + "/.aws/sso/cache"
        endpoint = environment["AWS_ENDPOINT_URL_SSO"].flatMap { URL(string: $0) }
    }

    /// Returns the credentials of the role, which expire after some hours.
    func credentials() async throws -> S3Credentials {
        var options = ConnectionOptions()
        options.usesProxyFromEnvironment = true
        let server = try Endpoint(try endpoint ?? amazon())
        guard server.origin.isSecure || server.origin.isOnThisMachine else {
            throw StorageError(.invalidRequest, message: "AWS_ENDPOINT_URL_SSO is not encrypted: use https.")
        }
        options.allowsPlainHTTP = !server.origin.isSecure
        let transport = DefaultTransport.make(HTTPOptions(options))
        let result = await Result { try await credentials(of: server, transport) }
        await transport.shutdown()
        return try result.get()
    }

    private func amazon() throws -> URL {
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        guard let url = URL(string: "https://portal.sso.\(region).\(domain)") else {
            throw StorageError(.unauthorized, message: "The sso_region of the profile '\(profile)' is not a region.")
        }
        return url
    }

    private func credentials(of server: Endpoint, _ transport: any HTTPTransport) async throws -> S3Credentials {
        let token = try token()
        let query = "account_id=\(PercentEncoding.query(account))&role_name=\(PercentEncoding.query(role))"
        var request = HTTPRequest(.get, origin: server.origin, target: "\(server.path)/federation/credentials?\(query)")
        try request.headers.set("x-amz-sso_bearer_token", value: token)
        let response: HTTPResponse
        do {
            response = try await transport.send(request)
        } catch let error as HTTPError {
            let reason = StorageError(error)
            throw StorageError(reason.code, message: "No credentials for the role: \(reason.message)", cause: error)
        }
        switch response.status {
        case 200: break
        case 401: throw ended
        case 400..<429:
            throw StorageError(
                .unauthorized,
                message:
                    "\(server.origin) has no credentials of the role \(role) in the account \(account): it answered "
                    + "\(response.status).")
        default:
            throw StorageError(
                ErrorClassification(foreign: response).code,
                message: "\(server.origin) returned no credentials: it answered \(response.status).")
        }
        guard let reply = try? JSONDecoder().decode(RoleReply.self, from: Data(response.body)).roleCredentials else {
            throw StorageError(
                .unreachable,
                message: "The reply of \(server.origin) has no credentials. Check for a proxy in front of it.")
        }
        return S3Credentials(
            accessKeyID: reply.accessKeyId, secretAccessKey: reply.secretAccessKey, sessionToken: reply.sessionToken,
            expiration: reply.expiration.map { Date(timeIntervalSince1970: $0 / 1_000) })
    }

    /// Returns the access token from the cache.
    private func token() throws -> String {
        let name = Insecure.SHA1.hash(data: Data(cacheKey.utf8)).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        let path = "\(cache)/\(name.joined()).json"
        guard let data = FileManager.default.contents(atPath: path),
            let login = try? JSONDecoder().decode(CachedLogin.self, from: data),
            let end = try? Date(login.expiresAt, strategy: .iso8601), end > Date()
        else { throw ended }
        return login.accessToken
    }

    private var ended: StorageError {
        StorageError(
            .unauthorized,
            message: "The login of the profile '\(profile)' has expired, or there was none: run "
                + "'aws sso login --profile \(profile)'.")
    }

    private struct CachedLogin: Decodable {
        let accessToken: String
        let expiresAt: String
    }

    private struct RoleReply: Decodable {
        struct Credentials: Decodable {
            let accessKeyId: String
            let secretAccessKey: String
            let sessionToken: String?
            /// Milliseconds since 1970.
            let expiration: Double?
        }

        let roleCredentials: Credentials
    }
}

extension Result where Failure == any Error {
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}
