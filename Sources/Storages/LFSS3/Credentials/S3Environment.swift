public import Foundation
import LFSHTTP
public import LFSStorage

/// The server settings of the environment, as AWS's tools read them.
///
/// Sources: "AWS Region" and "Service-specific endpoints" in the AWS SDKs and Tools reference guide.
public struct S3Environment: Hashable, Sendable {
    /// `AWS_REGION`, `AWS_DEFAULT_REGION`, or the profile's `region`.
    public var region: String?
    /// The first of these: `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, the `endpoint_url` of `s3` in the profile's
    /// section `services`, the profile's own `endpoint_url`.
    ///
    /// nil if `AWS_IGNORE_CONFIGURED_ENDPOINT_URLS` or the profile's `ignore_configured_endpoint_urls` is true.
    public var endpoint: URL?
    /// The path of a file with certificates: `AWS_CA_BUNDLE`, or the profile's `ca_bundle`.
    package var caBundle: String?

    /// Reads the variables and the two profile files.
    ///
    /// - Parameters:
    ///   - profile: the name of the profile. nil uses `AWS_PROFILE`, and otherwise `default`, which may be missing.
    ///   - environment: the variables. The default is the environment of the process.
    /// - Throws: `StorageError.Code.invalidRequest` for a missing profile, an unreadable file, and an endpoint that is
    ///   not the URL of a server.
    public static func resolve(
        profile: String? = nil, environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) -> S3Environment {
        try resolve(profile: profile, in: AWSEnvironment(variables: environment))
    }

    static func resolve(profile name: String?, in environment: AWSEnvironment) throws(StorageError) -> S3Environment {
        let profile = try environment.profile(name)
        var result = S3Environment()
        result.region = environment["AWS_REGION"] ?? environment["AWS_DEFAULT_REGION"] ?? profile["region"]
        result.caBundle = environment["AWS_CA_BUNDLE"] ?? profile["ca_bundle"]
        result.endpoint = try endpoint(environment, profile: profile)
        return result
    }

    private static func endpoint(
        _ environment: AWSEnvironment, profile: AWSEnvironment.Profile
    ) throws(StorageError) -> URL? {
        let ignores =
            environment["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] ?? profile["ignore_configured_endpoint_urls"]
        if ignores?.lowercased() == "true" { return nil }
        for variable in ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] {
            if let text = environment[variable] { return try url(text, from: variable) }
        }
        if let text = profile.services?["s3.endpoint_url"], !text.isEmpty {
            return try url(text, from: "endpoint_url of s3 in the services of the profile '\(profile.name)'")
        }
        return try profile["endpoint_url"].map { text throws(StorageError) in
            try url(text, from: "endpoint_url of the profile '\(profile.name)'")
        }
    }

    private static func url(_ text: String, from name: String) throws(StorageError) -> URL {
        // The message omits the text, because it may contain a password.
        guard let url = URL(string: text), (try? HTTPOrigin(url)) != nil, url.query == nil, url.fragment == nil else {
            throw StorageError(
                .invalidRequest, message: "\(name) is not the URL of a server: write https://host or http://host.")
        }
        return url
    }
}
