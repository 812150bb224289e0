import Testing

@testable import LFSBackup

@Suite("Networks of Apple devices") struct NetworkPathTests {
    private func network(_ interface: NetworkPath.Interface, _ change: (inout NetworkPath) -> Void = { _ in })
        -> DeviceState.Network
    {
        var path = NetworkPath(
            isSatisfied: true, interface: interface, name: "en0", isExpensive: false, isConstrained: false)
        change(&path)
        return path.network
    }

    @Test("A cable and Wi-Fi are networks of their own kind")
    func free() {
        #expect(network(.wired) == .wired)
        #expect(network(.wifi) == .wifi)
    }

    @Test("A mobile network is mobile, and so is the shared network of a phone over Wi-Fi")
    func expensive() {
        #expect(network(.cellular) == .mobile("en0"))
        #expect(network(.wifi) { $0.isExpensive = true } == .mobile("en0"))
    }

    @Test("Wi-Fi in Low Data Mode is a network that may be metered")
    func constrained() {
        #expect(network(.wifi) { $0.isConstrained = true } == .unknown("en0"))
    }

    @Test("A tunnel is a network that may be metered")
    func tunnel() {
        #expect(network(.other) == .unknown("en0"))
    }

    @Test("A path without a route is no network")
    func none() {
        #expect(network(.wifi) { $0.isSatisfied = false } == .none)
    }
}
