;; What ALFWorld's commands need and change, as an agent that reads sees it. Written for this package from playing.
;; Arriving at a place, or opening it, shows what is in it, so `find` costs no command: its cost is the price of the
;; hypothesis alone (MemPlan, section 3.3), and `refuted` excludes the places that were looked at in vain.
;; Every command costs 8, while the prices of hypotheses run from 1 to 11: more than one command is no unlikely place
;; worth. Among 1 to 8, this found things fastest in the training games.
(define (domain alfworld)
  (:requirements :strips :typing :negative-preconditions :action-costs)
  (:types
    thing class - object
    place item - thing
    fixture - place)
  (:predicates
    ;; static: what a thing is and can do, given by its class
    (instance_of ?x - thing ?c - class)
    (openable ?f - fixture)
    (heats ?f - fixture)
    (cools ?f - fixture)
    (cleans ?f - fixture)
    (pickupable ?i - item)
    (sliceable ?i - item)
    (cuts ?i - item)
    (lights ?i - item)
    ;; hypotheses
    (candidate ?i - item ?f - fixture)
    (refuted ?i - item ?f - fixture)
    (found ?i - item)
    ;; what changes
    (at ?p - place)
    (in ?i - item ?f - fixture)
    (holding ?i - item)
    (hand_empty)
    (closed ?f - fixture)
    (observed ?f - fixture)
    (sliced ?i - item)
    (hot ?i - item)
    (cold ?i - item)
    (cleaned ?i - item)
    (switched_on ?i - item)
    (examined_under ?i - item ?l - item))
  (:functions
    (total-cost) - number
    (check_cost ?i - item ?f - fixture) - number)

  (:action go_to
    :parameters (?from - place ?to - fixture)
    :precondition (and (at ?from))
    :effect (and (not (at ?from)) (at ?to) (increase (total-cost) 8)))
  (:action look
    :parameters (?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)))
    :effect (and (observed ?f) (increase (total-cost) 8)))
  (:action find
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (not (closed ?f)) (candidate ?i ?f) (not (refuted ?i ?f)) (not (found ?i)))
    :effect (and (found ?i) (in ?i ?f) (observed ?f) (increase (total-cost) (check_cost ?i ?f))))
  (:action open
    :parameters (?f - fixture)
    :precondition (and (at ?f) (openable ?f) (closed ?f))
    :effect (and (not (closed ?f)) (increase (total-cost) 8)))
  (:action close
    :parameters (?f - fixture)
    :precondition (and (at ?f) (openable ?f) (not (closed ?f)))
    :effect (and (closed ?f) (increase (total-cost) 8)))
  (:action take
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (pickupable ?i) (hand_empty))
    :effect (and (holding ?i) (not (in ?i ?f)) (not (hand_empty)) (increase (total-cost) 8)))
  (:action put
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (not (closed ?f)))
    :effect (and (in ?i ?f) (hand_empty) (not (holding ?i)) (increase (total-cost) 8)))
  ;; the thing stays in the hand and the door may be shut
  (:action heat
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (heats ?f))
    :effect (and (hot ?i) (not (cold ?i)) (increase (total-cost) 8)))
  (:action cool
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (cools ?f))
    :effect (and (cold ?i) (not (hot ?i)) (increase (total-cost) 8)))
  (:action clean
    :parameters (?i - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (cleans ?f))
    :effect (and (cleaned ?i) (increase (total-cost) 8)))
  (:action slice
    :parameters (?i - item ?k - item ?f - fixture)
    :precondition (and (at ?f) (in ?i ?f) (not (closed ?f)) (holding ?k) (cuts ?k) (sliceable ?i) (not (sliced ?i)))
    :effect (and (sliced ?i) (increase (total-cost) 8)))
  (:action examine
    :parameters (?i - item ?l - item ?f - fixture)
    :precondition (and (at ?f) (holding ?i) (in ?l ?f) (not (closed ?f)) (lights ?l))
    :effect (and (switched_on ?l) (examined_under ?i ?l) (increase (total-cost) 8))))
