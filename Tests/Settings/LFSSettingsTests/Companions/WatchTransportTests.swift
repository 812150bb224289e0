import Crypto
import Foundation
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Settings on an Apple Watch", .timeLimit(.minutes(10)))
struct WatchTransportTests {
    private let link = WatchLink()
    private let device = FileID.make()
    private let other = FileID.make()

    private func state(_ value: String = "1", of device: FileID) -> CompanionState {
        let content = SerializedValue(serializer: "json", version: 1, bytes: Data(value.utf8))
        return CompanionState(
            deviceID: device, resetCount: 0,
            entries: ["one": CompanionState.Entry(updateID: FileID.make(), content: content)])
    }

    private func context(_ value: any Sendable) -> [String: any Sendable] { [WatchTransport.contextKey: value] }

    /// Returns the readings of a device as texts.
    private func readings(
        _ transport: WatchTransport, of device: FileID, versions: [String: String] = [:]
    ) async throws -> [String] {
        let found = Mutex<[String]>([])
        try await transport.states(for: CompanionQuery(device: device.text, versions: versions)) { reading in
            found.withLock { $0.append(reading.summary) }
        }
        return found.withLock(\.self)
    }

    // MARK: Delivery

    @Test("A state that one device publishes is the state that its counterpart reads")
    func delivered() async throws {
        let (phone, watch) = (WatchTransport(link.phone), WatchTransport(link.watch))
        try await phone.publish(state(of: device))
        #expect(try await readings(watch, of: other) == [])
        link.deliver()
        #expect(try await readings(watch, of: other) == ["state \(device.text)"])
        #expect(try await readings(phone, of: device) == ["state \(device.text)"])
        try await watch.publish(state(of: other))
        link.deliver()
        #expect(try await readings(phone, of: device) == ["state \(device.text)", "state \(other.text)"])
    }

    @Test("Only the latest of several states that were not delivered arrives")
    func replaced() async throws {
        let (phone, watch) = (WatchTransport(link.phone), WatchTransport(link.watch))
        let last = state("3", of: device)
        for state in [state("1", of: device), state("2", of: device), last] { try await phone.publish(state) }
        link.deliver()
        let found = ResultBox<CompanionState>()
        try await watch.states(for: CompanionQuery(device: other.text)) { reading in
            if case .state(let state, _) = reading { found.put(state) }
        }
        #expect(found.value == last)
    }

    @Test("A context that arrives before the activation is read after it")
    func early() async throws {
        let (phone, watch) = (WatchTransport(link.phone), WatchTransport(link.watch))
        try await phone.publish(state(of: device))
        link.watch.holdActivations()
        let found = try await withThrowingTaskGroup(of: [String].self) { group in
            group.addTask { try await readings(watch, of: other) }
            await link.watch.calls.wait { $0.contains("activate") }
            link.deliver()
            link.watch.endActivation()
            return try await group.next()
        }
        #expect(found == ["state \(device.text)"])
    }

    @Test("A state with the version of the query is unchanged")
    func unchanged() async throws {
        let (phone, watch) = (WatchTransport(link.phone), WatchTransport(link.watch))
        try await phone.publish(state(of: device))
        link.deliver()
        let versions = Mutex<[String: String]>([:])
        try await watch.states(for: CompanionQuery(device: other.text)) { reading in
            guard case .state(let state, let version) = reading else { return }
            versions.withLock { $0[state.device] = version }
        }
        let known = versions.withLock(\.self)
        #expect(known.count == 1)
        #expect(try await readings(watch, of: other, versions: known) == ["unchanged \(device.text)"])
        try await phone.publish(state("2", of: device))
        link.deliver()
        #expect(try await readings(watch, of: other, versions: known) == ["state \(device.text)"])
    }

    @Test("Each received context and each new session is reported as a change")
    func changes() async throws {
        let transport = WatchTransport(link.phone)
        _ = try await readings(transport, of: device)
        var changes = transport.changes().makeAsyncIterator()
        for event in [WatchSessionEvent.contextReceived, .statusChanged, .activationEnded(nil)] {
            link.phone.report(event)
            #expect(await changes.next() != nil, "\(event)")
        }
    }

    // MARK: Activation

    @Test("Concurrent calls activate the session once")
    func concurrent() async throws {
        let transport = WatchTransport(link.phone)
        link.phone.holdActivations()
        try await withThrowingTaskGroup(of: [String].self) { group in
            for _ in 0..<8 { group.addTask { try await readings(transport, of: device) } }
            await link.phone.calls.wait { $0.contains("activate") }
            link.phone.endActivation()
            for try await readings in group { #expect(readings == []) }
        }
        #expect(link.phone.calls.events == ["activate"])
    }

    @Test("A failed activation is an error, and the next call activates the session again")
    func failedActivation() async throws {
        let transport = WatchTransport(link.phone)
        link.phone.failActivations(with: .sessionNotActivated)
        await expectFailure(.transportFailed) { _ = try await readings(transport, of: device) }
        link.phone.failActivations(with: nil)
        try await transport.publish(state(of: device))
        #expect(link.phone.calls.events == ["activate", "activate", "update"])
    }

    @Test("A cancelled task does not wait for the activation")
    func cancelled() async throws {
        let transport = WatchTransport(link.phone)
        link.phone.holdActivations()
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await #expect(throws: CancellationError.self) { _ = try await readings(transport, of: device) }
                return true
            }
            await link.phone.calls.wait { $0.contains("activate") }
            group.cancelAll()
            #expect(await group.next() == true)
        }
    }

    @Test("The session is activated again for another Apple Watch")
    func switched() async throws {
        let transport = WatchTransport(link.phone)
        try await transport.publish(state(of: device))
        link.phone.change { $0.activation = .inactive }
        await expectFailure(.transportFailed) { _ = try await readings(transport, of: device) }
        #expect(link.phone.calls.events == ["activate", "update"])
        // The contexts of the other Apple Watch are empty, so the state is published again.
        link.phone.change { $0.activation = .notActivated }
        link.phone.put(sent: [:], received: [:])
        link.phone.report(.deactivated)
        #expect(link.phone.calls.events == ["activate", "update", "activate"])
        #expect(try await readings(transport, of: device) == [])
    }

    @Test("A session that other code has activated is used at once")
    func activatedBefore() async throws {
        link.phone.change { $0.activation = .activated }
        link.phone.holdActivations()
        try await WatchTransport(link.phone).publish(state(of: device))
        #expect(link.phone.calls.events == ["activate", "update"])
    }

    // MARK: Errors

    @Test("A device without a usable counterpart gets an error that says what to do", arguments: [0, 1, 2])
    func noCounterpart(index: Int) async throws {
        let cases: [(text: String, change: @Sendable (inout WatchSessionStatus) -> Void)] = [
            ("isSupported", { $0.isSupported = false }), ("Pair one", { $0.isPaired = false }),
            ("Install it", { $0.isAppInstalled = false }),
        ]
        link.phone.change(cases[index].change)
        let transport = WatchTransport(link.phone)
        let device = device
        let calls: [@Sendable () async throws -> Void] = [
            { try await transport.publish(state(of: device)) }, { _ = try await readings(transport, of: device) },
        ]
        for call in calls {
            let error = await #expect(throws: SettingsError.self) { try await call() }
            #expect(error?.code == .transportFailed)
            #expect(error?.message.contains(cases[index].text) == true, "\(String(describing: error))")
        }
        #expect(!link.phone.calls.events.contains("update"))
    }

    @Test("An error of an update has its code and its number")
    func updateErrors() async throws {
        let transport = WatchTransport(link.phone)
        let expected: [(WatchFailure, SettingsError.Code)] = [
            (.payloadTooLarge, .tooLarge), (.insufficientSpace, .noSpace), (.payloadUnsupportedTypes, .transportFailed),
            (.sessionNotActivated, .transportFailed), (WatchFailure(code: 7_001), .transportFailed),
        ]
        for (failure, code) in expected {
            link.phone.failUpdates(with: failure)
            let error = await #expect(throws: SettingsError.self) { try await transport.publish(state(of: device)) }
            #expect(error?.code == code)
            #expect(error?.cause as? WatchFailure == failure)
        }
        let unnamed = WatchFailure(code: 7_001).settingsError
        #expect(unnamed.message.contains("7001"))
    }

    @Test("A state of at most 48 KiB is sent, and a larger one is not passed to the system")
    func tooLarge() async throws {
        let transport = WatchTransport(link.phone)
        let limit = transport.limits.stateByteCount
        #expect(limit == 49_152)
        let rest = limit - state("", of: device).byteCount
        try await transport.publish(state(String(repeating: "1", count: rest), of: device))
        let large = state(String(repeating: "1", count: rest + 1), of: device)
        await expectFailure(.tooLarge) { try await transport.publish(large) }
        #expect(link.phone.calls.events == ["activate", "update"])
    }

    // MARK: Untrusted contexts

    @Test("A received context that is not a valid state is reported and not accepted")
    func hostile() async throws {
        let transport = WatchTransport(link.phone)
        let valid = state(of: other).encoded()
        var newer = valid.dropLast(32)
        newer[4] = 2
        let newerState = Data(newer) + SHA256.hash(data: newer)
        let contexts: [(any Sendable, SettingsError.Code)] = [
            ("text", .corrupted), (7, .corrupted), ([1, 2], .corrupted), (["one": valid], .corrupted),
            (Data(), .corrupted), (Data("damaged".utf8), .corrupted), (valid.dropLast(1), .corrupted),
            (Data(count: 49_153), .tooLarge), (newerState, .newerValue), (state(of: device).encoded(), .corrupted),
        ]
        for (value, code) in contexts {
            link.phone.put(received: context(value))
            #expect(try await readings(transport, of: device) == ["unreadable counterpart \(code)"])
        }
    }

    @Test("A context of other code without settings is ignored")
    func foreignContext() async throws {
        link.phone.put(sent: ["theme": "dark"], received: ["theme": "dark", "lfsSettings": Data()])
        #expect(try await readings(WatchTransport(link.phone), of: device) == [])
    }

    @Test("The state of a former database of the app is not read as its own")
    func formerDatabase() async throws {
        link.phone.put(sent: context(state(of: other).encoded()))
        #expect(try await readings(WatchTransport(link.phone), of: device) == [])
    }

    @Test("An own state that cannot be read is reported under the id of the device")
    func unreadableOwn() async throws {
        link.phone.put(sent: context(Data("damaged".utf8)))
        let found = try await readings(WatchTransport(link.phone), of: device)
        #expect(found == ["unreadable \(device.text) corrupted"])
    }

    // MARK: Routers

    @Test("A value that is set on the iPhone reaches the Apple Watch, and vice versa")
    func routers() async throws {
        let (world, link) = (World(), WatchLink(isAutomatic: true))
        let phone = try await CompanionDevice(world, transports: [WatchTransport(link.phone)])
        let watch = try await CompanionDevice(world, transports: [WatchTransport(link.watch)])
        try await phone.set(1)
        try await watch.set(2, index: 1)
        try await synchronize([phone, watch])
        #expect(try await phone.values() == [1, 2, nil])
        #expect(try await watch.values() == [1, 2, nil])
        #expect(try phone.status.transport == "watch" && phone.problems == [])
        // A hostile context changes nothing, and its removal heals the status.
        link.phone.put(received: context(Data("damaged".utf8)))
        try await phone.synchronize()
        #expect(try phone.problems == ["all: corrupted"])
        #expect(try await phone.values() == [1, 2, nil])
        link.phone.put(received: [:])
        try await phone.synchronize()
        #expect(try phone.problems == [])
    }

    @Test("Values of encrypted keys need the consent of the app")
    func encrypted() async throws {
        let key = StorageKey<Int>("pin", security: .encrypted, sync: .automatic(maxByteCount: 10))
        let link = link
        try await withPlace { place in
            for isConfidential in [false, true] {
                var options = place.options
                options.companions = CompanionOptions([WatchTransport(link.phone, isConfidential: isConfidential)])
                let open = { @Sendable [options] in _ = try await place.open(options) { key } }
                if isConfidential {
                    try await open()
                } else {
                    await expectFailure(.notConfidential) { try await open() }
                }
            }
        }
    }

    @Test("An iPhone and an Apple Watch converge despite faults and clock errors")
    func converge() async throws {
        let seeds = CompanionModel.seeds.prefix(100)
        try await forEachOnAllProcessors(seeds) { seed in
            // Models with an even seed have two devices.
            if !seed.isMultiple(of: 2) { return }
            let link = WatchLink(isAutomatic: true)
            let sessions = Mutex([link.watch, link.phone])
            try await CompanionModel(seed: seed) {
                WatchTransport(try #require(sessions.withLock { $0.popLast() }))
            }.run()
        }
    }
}

extension CompanionReading {
    /// The kind of the reading, its device, and the code of its error.
    fileprivate var summary: String {
        switch self {
        case .state(let state, _): "state \(state.device)"
        case .unchanged(let device): "unchanged \(device)"
        case .unreadable(let device, let error): "unreadable \(device) \(error.code)"
        }
    }
}
