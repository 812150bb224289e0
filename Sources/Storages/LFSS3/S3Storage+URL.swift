public import Foundation
import LFSHTTP
public import LFSStorage

extension S3Storage {
    /// Creates the storage of a URL. Missing values come from the environment and the files of the AWS tools.
    ///
    /// - Parameters:
    ///   - url: the URL of the bucket.
    ///   - options: the options. Provider, storage class and certificate authorities from the URL and the environment
    ///     override them.
    ///   - environment: the variables. The default is the environment of the process.
    /// - Throws: `StorageError.Code.invalidRequest` for invalid settings, such as a missing profile.
    public convenience init(
        _ url: S3URL, options: S3Options = S3Options(),
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) throws(StorageError) {
        let environment = AWSEnvironment(variables: environment)
        let found = try S3Environment.resolve(profile: url.profile, in: environment)
        var options = options
        if let provider = url.provider { options.provider = provider }
        if let storageClass = url.storageClass { options.storageClass = storageClass }
        if let bundle = found.caBundle { options.certificateAuthorities = bundle }
        // A user who writes http in the URL wants it. An endpoint from the environment may use http for this machine
        // only.
        if url.endpoint.map({ $0.scheme == "http" }) ?? found.isOnThisMachine { options.allowsPlainHTTP = true }
        try self.init(
            bucket: url.bucket, prefix: url.prefix, region: url.region ?? found.region,
            endpoint: url.endpoint ?? found.endpoint, addressing: url.addressing,
            credentials: url.profile.map { .profile($0, in: environment) } ?? .automatic(environment), options: options)
    }
}

extension S3Environment {
    fileprivate var isOnThisMachine: Bool {
        guard let endpoint, let origin = try? HTTPOrigin(endpoint) else { return false }
        return origin.isOnThisMachine
    }
}
