package import LFSHTTP
import LFSStorage

#if Curl && canImport(LFSCurl)
import LFSCurl
#endif
#if canImport(Darwin)
import LFSURLSession
#endif

/// The HTTP engines of this program, for storages without a custom transport.
///
/// The package trait `Curl`, which is on by default, includes the engine on libcurl on Linux and macOS. Apple platforms
/// have the engine on `URLSession`.
package enum DefaultTransport {
    /// Creates the engine that the options choose, for one storage. Without that engine, it returns a transport whose
    /// every call throws.
    package static func make(_ options: HTTPOptions) -> any HTTPTransport {
        switch options.engine {
        case .platform: libcurl(options) ?? urlSession(options) ?? MissingTransport(reason: .traitOff)
        case .curl: libcurl(options) ?? MissingTransport(reason: .noLibcurl)
        case .urlSession: urlSession(options) ?? MissingTransport(reason: .noURLSession)
        }
    }

    private static func libcurl(_ options: HTTPOptions) -> (any HTTPTransport)? {
        #if Curl && canImport(LFSCurl)
        CurlTransport(options)
        #else
        nil
        #endif
    }

    private static func urlSession(_ options: HTTPOptions) -> (any HTTPTransport)? {
        #if canImport(Darwin)
        URLSessionTransport(options)
        #else
        nil
        #endif
    }
}

/// A transport for programs without the engine that the options choose. It sends nothing.
struct MissingTransport: HTTPTransport {
    enum Reason {
        /// The platform has an engine, but the build left it out.
        case traitOff
        /// The options choose libcurl, which this program does not have.
        case noLibcurl
        /// The options choose `URLSession` on a platform that is not Apple's.
        case noURLSession

        var message: String {
            switch self {
            case .traitOff:
                """
                This program was built without an HTTP engine, so no network storage works. Switch on the trait Curl \
                of the package LFS, which is on by default.
                """
            case .noLibcurl:
                """
                This program was built without libcurl. On Linux and macOS switch on the trait Curl of the package \
                LFS. On iOS set ConnectionOptions.engine to platform.
                """
            case .noURLSession:
                """
                LFS uses URLSession on Apple platforms only. Set ConnectionOptions.engine to platform.
                """
            }
        }
    }

    let reason: Reason

    /// - Throws: ``StorageError/Code/misconfigured``, always.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        throw StorageError(.misconfigured, message: reason.message)
    }

    func shutdown() async {}
}
