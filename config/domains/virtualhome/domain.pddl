;; VirtualHome's actions for the planner. Preconditions and effects follow the published list of the evolving graph
;; and of the Unity simulator; what differs is said at the action. One hand: robots here have one gripper.
;; "on" and "inside" are both `in`: which of the two it is follows from what holds the thing.
(define (domain virtualhome)
  (:requirements :strips :typing :negative-preconditions :action-costs)
  (:types
    thing class - object
    place item - thing
    room fixture - place
    recipient - item)
  (:predicates
    (instance_of ?x - thing ?c - class)
    (surface ?f - fixture)
    (container ?f - fixture)
    (holds_things ?f - fixture)
    (can_open ?f - fixture)
    (has_switch ?f - fixture)
    (has_plug ?f - fixture)
    (sittable ?f - fixture)
    (lieable ?f - fixture)
    (gives_water ?f - fixture)
    (watchable ?f - fixture)
    (heats_food ?f - fixture)
    (grabbable ?i - item)
    (drinkable ?i - item)
    (eatable ?i - item)
    (cuttable ?i - item)
    (cuts ?i - item)
    (readable ?i - item)
    (pourable ?i - item)
    (wearable ?i - item)
    ;; hypotheses
    (candidate ?i - item ?f - fixture)
    (refuted ?i - item ?f - fixture)
    (found ?i - item)
    ;; what changes
    (at ?p - place)
    (in ?i - item ?r - thing)
    (holding ?i - item)
    (hand_empty)
    (standing)
    (resting_on ?f - fixture)
    (lying_on ?f - fixture)
    (asleep)
    (closed ?f - fixture)
    (observed ?f - fixture)
    (switched_on ?f - fixture)
    (plugged_out ?f - fixture)
    (washed ?i - item)
    (wiped ?f - fixture)
    (dirty ?i - item)
    (cut_up ?i - item)
    (hot ?i - item)
    (filled ?r - recipient)
    (drunk_from ?i - item)
    (eaten ?i - item)
    (read_through ?i - item)
    (watched ?f - fixture)
    (worn ?i - item)
    (touched ?i - item))
  (:functions
    (total-cost) - number
    (distance ?from - place ?to - place) - number
    (check_cost ?i - item ?f - fixture) - number)

  (:action walk
    :parameters (?from - place ?to - place)
    :precondition (and (at ?from) (standing))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) (distance ?from ?to))))
  (:action look_at
    :parameters (?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)))
    :effect (and (observed ?f) (increase (total-cost) 1)))
  (:action find
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)) (candidate ?i ?f) (not (refuted ?i ?f)) (not (found ?i)))
    :effect (and (found ?i) (in ?i ?f) (observed ?f) (increase (total-cost) (check_cost ?i ?f))))
  (:action grab
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (grabbable ?i) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?f)) (not (hand_empty)) (increase (total-cost) 2)))
  (:action grab_from
    :parameters (?i - item ?r - recipient ?f - fixture)
    :precondition (and (at ?f) (in ?i ?r) (in ?r ?f) (not (closed ?f)) (grabbable ?i) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?r)) (not (hand_empty)) (increase (total-cost) 2)))
  (:action put_back
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (surface ?f))
    :effect (and (in ?i ?f) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action put_in
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (container ?f) (not (closed ?f)))
    :effect (and (in ?i ?f) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action put_into
    :parameters (?i - item ?r - recipient ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (in ?r ?f) (not (closed ?f)))
    :effect (and (in ?i ?r) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action open
    :parameters (?f - fixture)
    :precondition (and (at ?f) (can_open ?f) (closed ?f) (hand_empty))
    :effect (and (not (closed ?f)) (increase (total-cost) 2)))
  (:action close
    :parameters (?f - fixture)
    :precondition (and (at ?f) (can_open ?f) (not (closed ?f)))
    :effect (and (closed ?f) (increase (total-cost) 2)))
  (:action switch_on
    :parameters (?f - fixture)
    :precondition (and (at ?f) (has_switch ?f) (not (switched_on ?f)) (not (plugged_out ?f)))
    :effect (and (switched_on ?f) (increase (total-cost) 1)))
  (:action switch_off
    :parameters (?f - fixture)
    :precondition (and (at ?f) (has_switch ?f) (switched_on ?f))
    :effect (and (not (switched_on ?f)) (increase (total-cost) 1)))
  (:action plug_in
    :parameters (?f - fixture)
    :precondition (and (at ?f) (has_plug ?f) (plugged_out ?f))
    :effect (and (not (plugged_out ?f)) (increase (total-cost) 1)))
  (:action plug_out
    :parameters (?f - fixture)
    :precondition (and (at ?f) (has_plug ?f) (not (plugged_out ?f)) (not (switched_on ?f)))
    :effect (and (plugged_out ?f) (increase (total-cost) 1)))
  (:action sit
    :parameters (?f - fixture)
    :precondition (and (at ?f) (sittable ?f) (standing))
    :effect (and (resting_on ?f) (not (standing)) (increase (total-cost) 1)))
  (:action lie
    :parameters (?f - fixture)
    :precondition (and (at ?f) (lieable ?f) (standing))
    :effect (and (resting_on ?f) (lying_on ?f) (not (standing)) (increase (total-cost) 1)))
  (:action sleep
    :parameters (?f - fixture)
    :precondition (and (lying_on ?f) (not (asleep)))
    :effect (and (asleep) (increase (total-cost) 1)))
  (:action wake_up
    :parameters ()
    :precondition (and (asleep))
    :effect (and (not (asleep)) (increase (total-cost) 1)))
  (:action stand_up
    :parameters (?f - fixture)
    :precondition (and (resting_on ?f) (not (asleep)))
    :effect (and (standing) (not (resting_on ?f)) (not (lying_on ?f)) (increase (total-cost) 1)))
  ;; VirtualHome asks only for something drinkable, or that can hold a drink, in the hand
  (:action drink
    :parameters (?i - item)
    :precondition (and (holding ?i) (drinkable ?i))
    :effect (and (drunk_from ?i) (increase (total-cost) 1)))
  (:action drink_from
    :parameters (?r - recipient)
    :precondition (and (holding ?r) (filled ?r))
    :effect (and (drunk_from ?r) (not (filled ?r)) (increase (total-cost) 1)))
  (:action eat
    :parameters (?i - item)
    :precondition (and (holding ?i) (eatable ?i))
    :effect (and (eaten ?i) (increase (total-cost) 1)))
  (:action pour
    :parameters (?i - item ?r - recipient ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (pourable ?i) (in ?r ?f) (not (closed ?f)))
    :effect (and (filled ?r) (increase (total-cost) 2)))
  ;; the tap is an object that is poured from in VirtualHome; here a recipient in the hand is held under it
  (:action fill
    :parameters (?r - recipient ?f - fixture)
    :precondition (and (at ?f) (holding ?r) (gives_water ?f))
    :effect (and (filled ?r) (increase (total-cost) 2)))
  (:action cut
    :parameters (?i - item ?k - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (cuttable ?i) (not (cut_up ?i)) (holding ?k) (cuts ?k))
    :effect (and (cut_up ?i) (increase (total-cost) 3)))
  (:action wash
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (gives_water ?f))
    :effect (and (washed ?i) (not (dirty ?i)) (increase (total-cost) 3)))
  ;; in VirtualHome food gets hot where it is while the appliance is on
  (:action heat
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (heats_food ?f) (switched_on ?f))
    :effect (and (hot ?i) (increase (total-cost) 3)))
  (:action wipe
    :parameters (?f - fixture ?i - item)
    :precondition (and (at ?f) (surface ?f) (holding ?i))
    :effect (and (wiped ?f) (increase (total-cost) 3)))
  (:action read
    :parameters (?i - item)
    :precondition (and (holding ?i) (readable ?i))
    :effect (and (read_through ?i) (increase (total-cost) 1)))
  (:action watch
    :parameters (?f - fixture)
    :precondition (and (at ?f) (watchable ?f) (switched_on ?f))
    :effect (and (watched ?f) (increase (total-cost) 1)))
  (:action touch
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)))
    :effect (and (touched ?i) (increase (total-cost) 1)))
  (:action put_on
    :parameters (?i - item)
    :precondition (and (holding ?i) (wearable ?i))
    :effect (and (worn ?i) (hand_empty) (not (holding ?i)) (increase (total-cost) 2)))
  (:action take_off
    :parameters (?i - item)
    :precondition (and (worn ?i) (hand_empty))
    :effect (and (holding ?i) (not (worn ?i)) (not (hand_empty)) (increase (total-cost) 2))))
